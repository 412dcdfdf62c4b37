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

it("SN-1 keeps nothing of a section whose header it does not understand", () => {
  const plain = plainGitConfig(`[core]
	bare = false
[http "https://git.example.com/"] sslVerify = true
	extraheader = AUTHORIZATION: basic CANARY
	bare = CANARY
[remote "origin"]
	fetch = +refs/heads/*:refs/remotes/origin/* # CANARY
	# of \\
[http]
	url = CANARY
[branch "a"]
	remote = \\
[http]
	merge = CANARY
`);
  expect(plain).toBe(`[core]
	bare = false
[remote "origin"]
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "a"]
`);
});

it("SN-1 keeps no program, whatever section names it", () => {
  const plain = plainGitConfig(`[core]
	alternateRefsCommand = CANARY
	fsmonitor = CANARY
	gitProxy = CANARY
[diff]
	external = CANARY
	algorithm = histogram
[diff "pdf"]
	textconv = CANARY
[merge "ours"]
	driver = CANARY
[remote "origin"]
	uploadpack = CANARY
	receivepack = CANARY
	proxy = http://CANARY
	vcs = CANARY
	url = ext::ssh CANARY
[alias]
	st = !CANARY
[includeIf "gitdir:/"]
	path = CANARY
[pull]
	rebase = true
[constructor]
	name = CANARY
`);
  expect(plain).toBe('[core]\n[diff]\n\talgorithm = histogram\n[remote "origin"]\n[pull]\n\trebase = true\n');
});

it.each([
  ["https://alice:CANARY@git.example.com/a.git", "https://git.example.com/a.git"],
  ["HTTPS://CANARY@git.example.com:8443/a@b.git", "HTTPS://git.example.com:8443/a@b.git"],
  ["https://git.example.com/a.git?private_token=CANARY", "https://git.example.com/a.git"],
  ["https://a@CANARY@git.example.com/a.git", "https://git.example.com/a.git"],
  ["ssh://git:CANARY@git.example.com:22/a.git", "ssh://git@git.example.com:22/a.git"],
  ["ssh://git@git.example.com/a.git", "ssh://git@git.example.com/a.git"],
  ["git@git.example.com:a.git", "git@git.example.com:a.git"],
  ["file:///srv/a.git", "file:///srv/a.git"],
  ['"https://CANARY@git.example.com/a.git#CANARY"', '"https://git.example.com/a.git"'],
  ['https://"alice:CANARY"@git.example.com/a.git', undefined],
  ["https://git.example.com/a.git ; CANARY", "https://git.example.com/a.git"],
])("SN-1 has of the address %s no word to enter by", (url, plain) => {
  const kept = plain === undefined ? "" : `\turl = ${plain}\n`;
  expect(plainGitConfig(`[remote "a"]\n\turl = ${url}\n`)).toBe(`[remote "a"]\n${kept}`);
});

it("SN-1 leaves out what is called by an address", () => {
  expect(plainGitConfig('[remote "https://CANARY@git.example.com/"]\n\tprune = true\n')).toBe("\n");
});
