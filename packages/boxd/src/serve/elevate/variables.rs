//! Which of the caller's variables the program gets: as with sudo, few, and none that make a
//! program load or run what the caller wants.

use crate::serve::environment;
use crate::serve::users::User;
use crate::sys::abstract_socket::Peer;
use crate::wire::elevation::Elevation;
use crate::wire::fields::Dictionary;

/// About the terminal and the language.
const KEPT: [&str; 11] = [
    "COLORTERM",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "DISPLAY",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LS_COLORS",
    "TERM",
    "TZ",
    "XAUTHORITY",
];
/// The other user's, whatever the caller keeps.
const OF_A_USER: [&str; 5] = ["LOGNAME", "MAIL", "PATH", "SHELL", "USER"];
/// Never kept, because they change what programs do.
const HARMFUL: [&str; 32] = [
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "ENV",
    "FPATH",
    "GLOBIGNORE",
    "HOSTALIASES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LOCALDOMAIN",
    "NLSPATH",
    "NODE_OPTIONS",
    "NULLCMD",
    "PATH_LOCALE",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLIO_DEBUG",
    "PERLLIB",
    "PS4",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "READNULLCMD",
    "RES_OPTIONS",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "TERMCAP",
    "TERMINFO",
    "ZDOTDIR",
];

pub fn of_program(
    asked: &Elevation,
    user: &User,
    sandbox: &Dictionary,
    caller: (&str, Peer),
) -> Dictionary {
    let kept = asked.env.iter().filter(|(name, value)| is_kept(asked, name, value));
    let mut variables: Dictionary =
        kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    let (name, Peer { uid, gid }) = caller;
    let told = [
        ("SUDO_COMMAND", asked.argv.join(" ")),
        ("SUDO_GID", gid.to_string()),
        ("SUDO_UID", uid.to_string()),
        ("SUDO_USER", name.to_string()),
    ];
    variables.extend(told.map(|(name, value)| (name.to_string(), value)));
    variables.extend(asked.set.clone());
    environment::compose(user, sandbox, &variables, false)
}

fn is_kept(asked: &Elevation, name: &str, value: &str) -> bool {
    let is_harmful = name.starts_with("LD_")
        || name.starts_with("_RLD")
        || name.starts_with("BASH_FUNC_")
        || value.starts_with("()")
        || HARMFUL.contains(&name);
    if is_harmful || OF_A_USER.contains(&name) {
        return false;
    }
    if asked.keeps_all || asked.keep.iter().any(|wanted| wanted == name) {
        return name != "HOME" || !asked.sets_home;
    }
    // A path or a format in one of these makes programs read files, or worse.
    (KEPT.contains(&name) || name.starts_with("LC_")) && !value.contains(['/', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::elevation::How;

    fn composed(keeps_all: bool, keep: &[&str]) -> Dictionary {
        let pairs = [
            ("TERM", "xterm"),
            ("LC_ALL", "C"),
            ("LANG", "../x/evil"),
            ("HOME", "/home/user"),
            ("PATH", "/evil"),
            ("SECRET", "s"),
            ("LD_PRELOAD", "/evil.so"),
            ("BASH_ENV", "/evil"),
            ("F", "() { :; }"),
        ];
        let own = |(name, value): (&str, &str)| (name.to_string(), value.to_string());
        let asked = Elevation {
            how: How::Command,
            user: "root".to_string(),
            argv: vec!["id".to_string()],
            env: pairs.map(own).into(),
            set: [("A", "b")].map(own).into(),
            keep: keep.iter().map(|name| name.to_string()).collect(),
            keeps_all,
            sets_home: false,
            has_terminal: false,
        };
        let root = User {
            name: "root".to_string(),
            uid: 0,
            gid: 0,
            home: "/root".to_string(),
            shell: String::new(),
            groups: Vec::new(),
        };
        of_program(&asked, &root, &Dictionary::new(), ("user", Peer { uid: 1000, gid: 1000 }))
    }

    #[test]
    fn only_what_is_about_the_terminal_and_the_language_is_kept() {
        let variables = composed(false, &[]);
        let names: Vec<&str> = variables.keys().map(String::as_str).collect();
        let expected =
            "A HOME LC_ALL LOGNAME PATH SUDO_COMMAND SUDO_GID SUDO_UID SUDO_USER TERM USER";
        assert_eq!(names.join(" "), expected);
        assert_eq!((variables["HOME"].as_str(), variables["LC_ALL"].as_str()), ("/root", "C"));
        assert!(!variables["PATH"].contains("evil"));
    }

    #[test]
    fn more_is_kept_when_asked_for_but_nothing_harmful() {
        assert_eq!(composed(false, &["SECRET", "LD_PRELOAD"]).get("SECRET").unwrap(), "s");
        let all = composed(true, &["LD_PRELOAD"]);
        assert_eq!((all["SECRET"].as_str(), all["HOME"].as_str()), ("s", "/home/user"));
        for name in ["LD_PRELOAD", "BASH_ENV", "F"] {
            assert!(!all.contains_key(name), "{name}");
        }
        assert_eq!(all["USER"], "root");
    }
}
