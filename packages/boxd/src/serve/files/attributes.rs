//! Modes, links and extended attributes.

use super::act_as;
use super::place::{self, Place};
use crate::serve::confine::Identity;
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::sys::xattr;
use crate::wire::failure::Failure;
use serde_json::{Map, Value, json};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The others belong to the kernel and to whoever guards the sandbox.
const OURS: &str = "user.";
const LONGEST_NAME: usize = 255;

pub fn set_mode(path: &str, mode: u32, user: &User, identity: Identity) -> Result<(), Failure> {
    if mode > 0o7777 {
        return Err(Failure::invalid("a mode has at most four octal digits"));
    }
    on_file(path, user, identity, |file| path::set_mode_through(file, mode))
}

/// `target` is text, and leads wherever it leads for who follows it.
pub fn make_symlink(
    path: &str,
    target: &str,
    user: &User,
    identity: Identity,
) -> Result<(), Failure> {
    if target.is_empty() || target.contains('\0') {
        return Err(Failure::invalid(format!("not a target: {target:?}")));
    }
    let path = place::absolute(path, user)?;
    let _acting = act_as(user, identity)?;
    let place = Place::of(&path)?;
    path::make_symlink(place.directory.as_fd(), &place.name, target)
        .map_err(|error| Failure::about_path(&path, &error))
}

/// Names to values in hexadecimal.
pub fn xattrs(path: &str, user: &User, identity: Identity) -> Result<Value, Failure> {
    let mut found = Map::new();
    on_file(path, user, identity, |file| {
        for name in xattr::names(file)? {
            let Ok(text) = name.to_str() else { continue };
            if text.starts_with(OURS) {
                found.insert(text.to_string(), json!(to_hex(&xattr::value(file, &name)?)));
            }
        }
        Ok(())
    })?;
    Ok(json!({ "xattrs": found }))
}

pub fn set_xattr(
    path: &str,
    name: &str,
    value: &str,
    user: &User,
    identity: Identity,
) -> Result<(), Failure> {
    let name = checked_name(name)?;
    let value = from_hex(value)
        .filter(|value| value.len() <= xattr::MOST_VALUE)
        .ok_or_else(|| Failure::invalid("a value is hexadecimal and at most 64 KiB"))?;
    on_file(path, user, identity, |file| xattr::set(file, &name, &value))
}

pub fn remove_xattr(
    path: &str,
    name: &str,
    user: &User,
    identity: Identity,
) -> Result<(), Failure> {
    let name = checked_name(name)?;
    on_file(path, user, identity, |file| xattr::remove(file, &name))
}

fn checked_name(name: &str) -> Result<CString, Failure> {
    let wrong =
        || Failure::invalid(format!("not an attribute's name: {name:?}; it begins with user."));
    let is_ours = name.len() > OURS.len() && name.starts_with(OURS) && name.len() <= LONGEST_NAME;
    CString::new(name).ok().filter(|_| is_ours).ok_or_else(wrong)
}

/// Acts on what a path leads to, pinned, so that nothing is swapped underneath.
fn on_file(
    path: &str,
    user: &User,
    identity: Identity,
    act: impl FnOnce(BorrowedFd) -> io::Result<()>,
) -> Result<(), Failure> {
    let path = place::absolute(path, user)?;
    let _acting = act_as(user, identity)?;
    path::open(HERE, &path, libc::O_PATH, 0, NO_MAGIC)
        .and_then(|file| act(file.as_fd()))
        .map_err(|error| Failure::about_path(&path, &error))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}
