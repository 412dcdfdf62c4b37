//! What a FAIL frame says.

use serde_json::{Value, json};
use std::fmt::Display;
use std::io;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    InvalidRequest,
    AlreadyExists,
    NotFound,
    PathNotFound,
    PathExists,
    NotADirectory,
    IsADirectory,
    PermissionDenied,
    NoSuchUser,
    CommandNotFound,
    CommandNotExecutable,
    StorageFull,
    Exhausted,
    Busy,
    Unavailable,
    Refused,
    Unsupported,
    Internal,
}

const SPELLINGS: [(Code, &str); 18] = [
    (Code::InvalidRequest, "invalid_request"),
    (Code::AlreadyExists, "already_exists"),
    (Code::NotFound, "not_found"),
    (Code::PathNotFound, "path_not_found"),
    (Code::PathExists, "path_exists"),
    (Code::NotADirectory, "not_a_directory"),
    (Code::IsADirectory, "is_a_directory"),
    (Code::PermissionDenied, "permission_denied"),
    (Code::NoSuchUser, "no_such_user"),
    (Code::CommandNotFound, "command_not_found"),
    (Code::CommandNotExecutable, "command_not_executable"),
    (Code::StorageFull, "storage_full"),
    (Code::Exhausted, "exhausted"),
    (Code::Busy, "busy"),
    (Code::Unavailable, "unavailable"),
    (Code::Refused, "refused"),
    (Code::Unsupported, "unsupported"),
    (Code::Internal, "internal"),
];

impl Code {
    pub fn as_str(self) -> &'static str {
        SPELLINGS.iter().find(|(code, _)| *code == self).map_or("internal", |(_, text)| text)
    }

    pub fn from_spelling(text: &str) -> Option<Code> {
        SPELLINGS.iter().find(|(_, spelling)| *spelling == text).map(|(code, _)| *code)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub code: Code,
    pub message: String,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    pub fn to_json(&self) -> Value {
        json!({"code": self.code.as_str(), "message": self.message})
    }

    pub fn invalid(message: impl Into<String>) -> Failure {
        Failure::new(Code::InvalidRequest, message)
    }

    pub fn internal(what: &str, error: io::Error) -> Failure {
        Failure::new(Code::Internal, format!("{what}: {error}"))
    }

    /// This host cannot give a layer of the sandbox.
    pub fn unavailable(layer: &str, error: &io::Error) -> Failure {
        Failure::new(Code::Unavailable, format!("{layer}: {error}"))
    }

    /// What an error of the filesystem means to who asked for `path`.
    pub fn about_path(path: impl Display, error: &io::Error) -> Failure {
        let code = match error.raw_os_error().unwrap_or(0) {
            libc::ENOENT => Code::PathNotFound,
            libc::ENOTDIR => Code::NotADirectory,
            libc::EISDIR => Code::IsADirectory,
            libc::EEXIST | libc::ENOTEMPTY => Code::PathExists,
            libc::EACCES | libc::EPERM | libc::EROFS | libc::EBUSY => Code::PermissionDenied,
            libc::ENOSPC | libc::EDQUOT | libc::EFBIG => Code::StorageFull,
            libc::ELOOP | libc::ENAMETOOLONG | libc::EINVAL | libc::EILSEQ | libc::ENXIO => {
                Code::InvalidRequest
            }
            libc::ENODATA => Code::NotFound,
            libc::EOPNOTSUPP => Code::Unsupported,
            _ => Code::Internal,
        };
        let said = error.to_string();
        // Its number says nothing to who reads this; the code above is made of it.
        let words = said.split_once(" (os error").map_or(said.as_str(), |(words, _)| words);
        Failure::new(code, format!("{path}: {words}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_filesystem_is_said_in_words_alone() {
        let failure = Failure::about_path("x", &io::Error::from_raw_os_error(libc::ENOENT));
        assert_eq!(
            (failure.code, failure.message.as_str()),
            (Code::PathNotFound, "x: No such file or directory")
        );
    }
}
