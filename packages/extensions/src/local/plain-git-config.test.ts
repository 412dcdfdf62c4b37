import { expect, it } from "vitest";
import { plainGitConfig } from "./plain-git-config.ts";

const FULL = `[core]
	repositoryformatversion = 0
	bare = false
	hooksPath = /home/alice/hooks
	sshCommand = ssh -i /home/alice/.ssh/id
[extensions]
	worktreeConfig = true
[remote "origin"]
	url = https://alice:CANARY@git.example.com/a.git
	pushurl = "https://CANARY@git.example.com/a.git"
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "ssh"]
	url = git@git.example.com:a.git
[branch "main"] # mine
	remote = origin
[http "https://git.example.com/"]
	extraheader = AUTHORIZATION: basic CANARY
[credential]
	helper = store --file CANARY
[url "https://CANARY@git.example.com/"]
	insteadOf = https://git.example.com/
[include]
	path = /home/alice/CANARY
[remote "odd"] url = https://x:CANARY@git.example.com/b.git
[user]
	name = Alice
	signingkey = \\
CANARY
`;

it("SN-1 keeps how a repository works, and nothing by which one is its owner", () => {
  const plain = plainGitConfig(FULL);
  expect(plain).not.toContain("CANARY");
  expect(plain).not.toContain("/home/alice");
  expect(plain).toBe(`[core]
	repositoryformatversion = 0
	bare = false
[extensions]
	worktreeConfig = true
[remote "origin"]
	url = https://git.example.com/a.git
	pushurl = "https://git.example.com/a.git"
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "ssh"]
	url = git@git.example.com:a.git
[branch "main"]
	remote = origin
[user]
	name = Alice
`);
});
