//! The command line of `sudo`, as far as it makes sense where nobody has a password.

use crate::wire::elevation::How;
use crate::wire::fields::Dictionary;

pub const HELP: &str = "\
usage: sudo [-EHn] [-D directory] [-u user] [VAR=value] command [argument ...]
       sudo [-EHn] [-D directory] [-u user] -i | -s [command [argument ...]]
       sudo -h | -k | -l | -V | -v

Runs a command as another user of this sandbox, root unless said otherwise. It never asks for a
password. Whether root may be had at all, whoever made the sandbox has decided.
";

#[derive(PartialEq, Eq, Debug)]
pub enum Wish {
    Run(Options),
    Help,
    Version,
    /// There is nothing to forget.
    Forget,
}

#[derive(PartialEq, Eq, Debug)]
pub struct Options {
    pub how: How,
    pub lists: bool,
    pub user: String,
    pub directory: Option<String>,
    pub keeps_all: bool,
    pub keep: Vec<String>,
    pub sets_home: bool,
    pub set: Dictionary,
    pub argv: Vec<String>,
}

/// Long names and the letters they stand for; `=` means that they take a value.
const LONG: [(&str, &str); 15] = [
    ("askpass", "A"),
    ("chdir", "D="),
    ("help", "h"),
    ("list", "l"),
    ("login", "i"),
    ("non-interactive", "n"),
    ("preserve-env", "E"),
    ("prompt", "p="),
    ("remove-timestamp", "K"),
    ("reset-timestamp", "k"),
    ("set-home", "H"),
    ("shell", "s"),
    ("stdin", "S"),
    ("user", "u="),
    ("validate", "v"),
];
const WITH_VALUE: &str = "Dpu";

pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Wish, String> {
    let mut arguments = arguments.into_iter().peekable();
    let mut parsed = Parsed::default();
    while let Some(word) = arguments.next_if(|word| word.starts_with('-') && word.len() > 1) {
        if word == "--" {
            break;
        }
        let mut value = || arguments.next().ok_or(format!("the option {word} needs a value"));
        match word.strip_prefix("--") {
            Some("version") => parsed.take('V', None)?,
            Some(long) => {
                let (name, given) = match long.split_once('=') {
                    Some((name, given)) => (name, Some(given.to_string())),
                    None => (long, None),
                };
                let known = LONG.iter().find(|(known, _)| *known == name);
                let letters = known.ok_or(format!("unknown option --{name}"))?.1;
                let letter = letters.chars().next().unwrap_or('-');
                match (letters.ends_with('='), given) {
                    (true, None) => parsed.take(letter, Some(value()?))?,
                    (_, given) => parsed.take(letter, given)?,
                }
            }
            None => {
                for (at, letter) in word.char_indices().skip(1) {
                    if !WITH_VALUE.contains(letter) {
                        parsed.take(letter, None)?;
                        continue;
                    }
                    let rest = &word[at + letter.len_utf8()..];
                    let given = if rest.is_empty() { value()? } else { rest.to_string() };
                    parsed.take(letter, Some(given))?;
                    break;
                }
            }
        }
    }
    let is_assignment =
        |word: &String| word.split_once('=').is_some_and(|(name, _)| is_variable(name));
    while let Some(word) = arguments.next_if(is_assignment) {
        let (name, value) = word.split_once('=').unwrap_or_default();
        parsed.set.insert(name.to_string(), value.to_string());
    }
    parsed.wish(arguments.collect())
}

fn is_variable(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

#[derive(Default)]
struct Parsed {
    wish: Option<Wish>,
    how: Option<How>,
    lists: bool,
    user: Option<String>,
    directory: Option<String>,
    keeps_all: bool,
    keep: Vec<String>,
    sets_home: bool,
    set: Dictionary,
}

impl Parsed {
    fn take(&mut self, letter: char, value: Option<String>) -> Result<(), String> {
        match (letter, value) {
            // About passwords, which there are none of.
            ('A' | 'S' | 'n' | 'p', _) => {}
            ('E', Some(names)) => self.keep.extend(names.split(',').map(str::to_string)),
            ('E', None) => self.keeps_all = true,
            ('H', _) => self.sets_home = true,
            ('D', value) => self.directory = value,
            ('u', value) => self.user = value,
            ('i', _) => self.how = Some(How::Login),
            ('s', _) => self.how = Some(How::Shell),
            ('v', _) => self.how = Some(How::Ask),
            ('l', _) => (self.how, self.lists) = (Some(How::Ask), true),
            ('h', _) => self.wish = Some(Wish::Help),
            ('V', _) => self.wish = Some(Wish::Version),
            ('k' | 'K', _) => self.wish = Some(Wish::Forget),
            _ => return Err(format!("unknown option -{letter}")),
        }
        Ok(())
    }

    fn wish(self, argv: Vec<String>) -> Result<Wish, String> {
        let how = self.how.unwrap_or(How::Command);
        match self.wish {
            // `sudo -k command` forgets first, then runs.
            Some(Wish::Forget) if !argv.is_empty() => {}
            Some(wish) => return Ok(wish),
            None if how == How::Command && argv.is_empty() => {
                return Err(format!("nothing to run\n{}", HELP.trim_end()));
            }
            None => {}
        }
        // As a name or as `#` and the id.
        let user = self.user.map(|user| match user.strip_prefix('#') {
            Some(id) => id.to_string(),
            None => user,
        });
        Ok(Wish::Run(Options {
            how,
            lists: self.lists,
            user: user.unwrap_or_else(|| "root".to_string()),
            directory: self.directory,
            keeps_all: self.keeps_all,
            keep: self.keep,
            sets_home: self.sets_home,
            set: self.set,
            argv,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        match parse(line.split(' ').map(str::to_string)) {
            Ok(Wish::Run(options)) => options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn command_lines_are_read_as_sudo_reads_them() {
        let plain = options("-nE apt-get -y install x");
        assert_eq!((plain.user.as_str(), plain.keeps_all), ("root", true));
        assert_eq!(plain.argv.join(" "), "apt-get -y install x");
        assert_eq!(options("-Hunobody id").user, "nobody");
        assert_eq!(options("-u #1000 id").user, "1000");
        let long = options("--user=ann --preserve-env=A,B --chdir /x -- -odd");
        assert_eq!((long.user.as_str(), long.keep.len()), ("ann", 2));
        assert_eq!((long.directory.as_deref(), long.argv[0].as_str()), (Some("/x"), "-odd"));
        let set = options("-n A=b C_1= 1=2 D=e");
        assert_eq!(set.set.into_iter().collect::<Vec<_>>().len(), 2);
        assert_eq!(set.argv, ["1=2", "D=e"]);
        assert_eq!(options("-i").how, How::Login);
        assert_eq!(options("-s echo hi").argv.len(), 2);
        assert!(options("-l").lists);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for wrong in ["-u", "-x true", "--nonsense true", "-n", "--user"] {
            assert!(parse(wrong.split(' ').map(str::to_string)).is_err(), "{wrong}");
        }
        assert_eq!(parse(["-V".to_string()]), Ok(Wish::Version));
        assert_eq!(parse(["-k".to_string()]), Ok(Wish::Forget));
        assert!(parse([]).is_err());
    }
}
