//! apply: the host's side of a copy-on-write workspace. Takes what a sandbox changed, as a layer on
//! standard input, and writes it into the folder: all of it or nothing.
//!
//! Everything in the layer is hostile. Whatever is written lies below the folder, reached without
//! following a link.
//!
//! New content is staged inside the folder first, so that it can be put in place by renaming. Then
//! a journal is written: dying before it leaves the old, dying after it is made good by the next
//! `apply --recover`, which carries on.

mod carry_out;
mod conflict;
mod die;
mod gather;
mod held_back;
pub mod host;
mod journal;
mod known;
mod mirror;
mod plan;
mod recover;
pub mod stage;
pub mod target;
mod told;
mod untouched;
mod wanted;

use crate::arguments::ApplyOptions;
use crate::tar::reader::Reader;
use crate::wire::failure::{Code, Failure};
use crate::wire::fields::Fields;
use crate::wire::file_request::Limits;
use conflict::Judge;
use gather::Gather;
use known::Known;
use plan::{Plan, Step};
use serde_json::{Value, json};
use stage::Stage;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use target::Target;
use told::Told;
use untouched::Untouched;

const MOST_HEADER: u32 = 1 << 20;
const SLICE: usize = 256 * 1024;

/// What is asked for, before the layer.
pub struct Asked {
    /// Overwrite what the host has changed meanwhile.
    pub force: bool,
    /// The paths that were named, where not everything is meant.
    pub named: Vec<PathBuf>,
    /// The most that the layer may hold.
    bytes: u64,
    /// The name of the file that says what became of it, where who asked hears no answer.
    ticket: Option<String>,
}

impl Asked {
    fn parse(mut fields: Fields) -> Result<Asked, Failure> {
        let named = fields.texts("paths")?.into_iter();
        let clean = |text: String| PathBuf::from(text).components().collect::<PathBuf>();
        let bytes = fields.number_if_any("bytes")?.unwrap_or(Limits::DEFAULT.bytes);
        let ticket = fields.text_if_any("ticket")?;
        if ticket.as_ref().is_some_and(|ticket| !told::is_ticket(ticket)) {
            return Err(Failure::invalid("a ticket is of letters and digits"));
        }
        let force = fields.flag("force", false)?;
        Ok(Asked { force, named: named.map(clean).collect(), bytes, ticket })
    }
}

/// Writes the answer to standard output; what goes wrong is part of it.
pub fn run(options: &ApplyOptions) -> Result<(), String> {
    if let Some(count) = options.die_after {
        die::want(count);
    }
    let outcome = match options {
        ApplyOptions { recover: Some(directory), .. } => recover::all(directory),
        ApplyOptions { sandbox: Some(directory), .. } => apply(directory),
        ApplyOptions { mirror: Some(directory), .. } => mirror::land(directory),
        _ => Err(Failure::invalid("--box, --mirror or --recover is needed")),
    };
    let answer = match outcome {
        Ok(answer) => answer,
        Err(failure) => json!({ "failure": failure.to_json() }),
    };
    println!("{answer}");
    Ok(())
}

fn apply(box_directory: &std::path::Path) -> Result<Value, Failure> {
    let target = Target::of_box(box_directory)?;
    let mut input = io::stdin().lock();
    let asked = Asked::parse(read_header(&mut input, MOST_HEADER)?)?;
    let known = Known::read(box_directory);
    let judge = Judge { root: target.root.as_fd(), since_ns: target.since_ns, known: &known };
    let untouched =
        Untouched::before_staging(judge).map_err(|error| Failure::internal("the folder", error))?;
    let stage = Stage::make(&target, &box_directory.join("../../applies"))?;
    let mut gather = Gather::into(&stage, &target, asked.bytes);
    let outcome = receive(&mut input, &mut gather)
        .and_then(|()| Plan::make(&target, &stage, gather.take(), &asked, &untouched));
    let steps: &[Step] = outcome.as_ref().map_or(&[], |plan| &plan.steps);
    let folders = untouched.ours(steps);
    let nothing = |answer| Told::of(box_directory, &[], &folders, answer);
    let done = |told: Told| {
        stage.clear();
        told.remember(&stage);
        told.answer
    };
    let plan = match outcome {
        Ok(plan) => plan,
        Err(failure) => {
            done(nothing(Value::Null));
            return Err(failure);
        }
    };
    let answer = |applied: usize, conflicts: &[Value]| {
        json!({
            "applied": applied,
            "paths": plan.paths(),
            "conflicts": conflicts,
            "heldBack": plan.held_back,
            "skipped": plan.skipped,
        })
    };
    if !plan.conflicts.is_empty() || plan.steps.is_empty() {
        return Ok(done(nothing(answer(0, &plan.conflicts))));
    }
    let answered = answer(plan.steps.len(), &plan.conflicts);
    let told = Told::of(box_directory, &plan.steps, &folders, answered).under(asked.ticket);
    let late = journal::commit(&stage, &target, &plan.steps, Some(&told))?;
    Ok(done(if late.is_empty() { told } else { nothing(answer(0, &late)) }))
}

/// A length and that many bytes of JSON.
fn read_header(input: &mut impl Read, most: u32) -> Result<Fields, Failure> {
    let broken = |error| Failure::internal("standard input", error);
    let mut length = [0; 4];
    input.read_exact(&mut length).map_err(broken)?;
    let length = u32::from_be_bytes(length);
    if length > most {
        return Err(Failure::new(Code::InvalidRequest, "the header is too long"));
    }
    let mut bytes = vec![0; length as usize];
    input.read_exact(&mut bytes).map_err(broken)?;
    let object = serde_json::from_slice(&bytes)
        .map_err(|error| Failure::invalid(format!("the header is no JSON: {error}")))?;
    Ok(Fields::of(object))
}

fn receive(input: &mut impl Read, gather: &mut Gather) -> Result<(), Failure> {
    let mut reader = Reader::default();
    let mut bytes = vec![0; SLICE];
    loop {
        match input.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => reader.push(&bytes[..count], gather)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::internal("standard input", error)),
        }
    }
    // A layer that is cut off is not a smaller one.
    reader.finish().map_err(|malformed| Failure::invalid(malformed.0))
}
