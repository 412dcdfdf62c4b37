//! The environment of programs.

use super::users::User;
use crate::wire::failure::Failure;
use crate::wire::fields::Dictionary;
use std::ffi::CString;

/// First where `sudo` is when it cannot be in /usr/bin.
const PATH: &str = "/run/boxd/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The defaults, then the sandbox's, then the request's.
pub fn compose(
    user: &User,
    sandbox: &Dictionary,
    request: &Dictionary,
    has_terminal: bool,
) -> Dictionary {
    let mut environment: Dictionary = [
        ("HOME", user.home.as_str()),
        ("LOGNAME", &user.name),
        ("PATH", PATH),
        ("USER", &user.name),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_string(), value.to_string()))
    .collect();
    if !user.shell.is_empty() {
        environment.insert("SHELL".to_string(), user.shell.clone());
    }
    if has_terminal {
        environment.insert("TERM".to_string(), "xterm-256color".to_string());
    }
    for (key, value) in sandbox.iter().chain(request) {
        environment.insert(key.clone(), value.clone());
    }
    if !OF_LETTERS.iter().any(|name| environment.contains_key(*name)) {
        environment.insert("LC_CTYPE".to_string(), "C.UTF-8".to_string());
    }
    environment
}

/// Which of them are letters is all that C.UTF-8 says beyond C. In `LANG`, every program would look
/// in a dozen files to learn that, each time it starts.
const OF_LETTERS: [&str; 3] = ["LANG", "LC_ALL", "LC_CTYPE"];

/// What a place that somebody else made gives its programs, without what is a user's own.
pub fn inherited() -> Dictionary {
    const OF_A_USER: [&str; 7] = ["HOME", "LOGNAME", "OLDPWD", "PWD", "SHELL", "SHLVL", "USER"];
    std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(key, _)| !OF_A_USER.contains(&key.as_str()))
        .collect()
}

pub fn check(environment: &Dictionary) -> Result<(), Failure> {
    for (key, value) in environment {
        if key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') {
            return Err(Failure::invalid(format!("not an environment variable: {key:?}")));
        }
    }
    Ok(())
}

/// As the kernel wants it. What `check` has let through has no NUL.
pub fn as_c_strings(environment: &Dictionary) -> Vec<CString> {
    environment
        .iter()
        .filter_map(|(key, value)| CString::new(format!("{key}={value}")).ok())
        .collect()
}

/// Where `program` may be, as a shell would look for it.
pub fn candidates(program: &str, environment: &Dictionary) -> Vec<CString> {
    if program.contains('/') {
        return CString::new(program).into_iter().collect();
    }
    let path = environment.get("PATH").map_or("", String::as_str);
    path.split(':')
        .map(|directory| if directory.is_empty() { "." } else { directory })
        .filter_map(|directory| CString::new(format!("{directory}/{program}")).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for_as_a_shell_does() {
        let environment = Dictionary::from([("PATH".to_string(), "/a::b".to_string())]);
        let found = candidates("x", &environment);
        assert_eq!(found, [c"/a/x".to_owned(), c"./x".to_owned(), c"b/x".to_owned()]);
        assert_eq!(candidates("./x", &environment), [c"./x".to_owned()]);
    }

    #[test]
    fn letters_are_utf_8_unless_somebody_says_otherwise() {
        let user = User {
            name: "user".to_string(),
            uid: 1000,
            gid: 1000,
            home: "/home/user".to_string(),
            shell: String::new(),
            groups: Vec::new(),
        };
        let none = Dictionary::new();
        let usual = compose(&user, &none, &none, false);
        assert_eq!(usual["LC_CTYPE"], "C.UTF-8");
        for name in OF_LETTERS {
            let said = Dictionary::from([(name.to_string(), "de_DE.UTF-8".to_string())]);
            for composed in
                [compose(&user, &said, &none, false), compose(&user, &none, &said, false)]
            {
                assert_eq!(composed[name], "de_DE.UTF-8");
                let all: Vec<_> =
                    composed.keys().filter(|key| OF_LETTERS.contains(&key.as_str())).collect();
                assert_eq!(all, [name], "and nothing beside it");
            }
        }
    }

    #[test]
    fn variables_cannot_smuggle_others() {
        let with = |key: &str, value: &str| {
            check(&Dictionary::from([(key.to_string(), value.to_string())]))
        };
        assert!(with("A", "b=c").is_ok());
        for (key, value) in [("", "x"), ("A=B", "x"), ("A\0B", "x"), ("A", "x\0y")] {
            assert!(with(key, value).is_err());
        }
    }
}
