//! Edits as hunks with a few lines around them.

use super::lines::{Edit, edits, split};
use std::ops::Range;

const AROUND: usize = 3;

pub struct Difference {
    /// `@@ … @@` and what follows; empty where nothing differs.
    pub hunks: Vec<u8>,
    pub added: usize,
    pub removed: usize,
}

pub fn differ(old: &[u8], new: &[u8]) -> Difference {
    let (old, new) = (split(old), split(new));
    let all = edits(&old, &new);
    let count = |wanted| all.iter().filter(|&&edit| edit == wanted).count();
    let mut difference =
        Difference { hunks: Vec::new(), added: count(Edit::Add), removed: count(Edit::Remove) };
    let (mut at, mut x, mut y) = (0, 0, 0);
    for hunk in hunks(&all) {
        for edit in &all[at..hunk.start] {
            (x, y) = advanced(*edit, x, y);
        }
        at = hunk.end;
        (x, y) = write(&mut difference.hunks, &all[hunk], (&old, x), (&new, y));
    }
    difference
}

/// Stretches of edits that are close enough to be shown together.
fn hunks(all: &[Edit]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (index, _) in all.iter().enumerate().filter(|(_, edit)| **edit != Edit::Keep) {
        let (start, end) = (index.saturating_sub(AROUND), (index + AROUND + 1).min(all.len()));
        match found.last_mut() {
            Some(last) if last.end >= start => last.end = end,
            _ => found.push(start..end),
        }
    }
    found
}

fn advanced(edit: Edit, x: usize, y: usize) -> (usize, usize) {
    match edit {
        Edit::Keep => (x + 1, y + 1),
        Edit::Remove => (x + 1, y),
        Edit::Add => (x, y + 1),
    }
}

fn write(
    out: &mut Vec<u8>,
    edits: &[Edit],
    (old, mut x): (&[&[u8]], usize),
    (new, mut y): (&[&[u8]], usize),
) -> (usize, usize) {
    let of = |left: Edit| edits.iter().filter(|&&edit| edit != left).count();
    let range = |start: usize, count: usize| match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{count}", start + 1),
    };
    let (rows, columns) = (range(x, of(Edit::Add)), range(y, of(Edit::Remove)));
    out.extend(format!("@@ -{rows} +{columns} @@\n").bytes());
    for &edit in edits {
        let (mark, line) = match edit {
            Edit::Keep => (b' ', old[x]),
            Edit::Remove => (b'-', old[x]),
            Edit::Add => (b'+', new[y]),
        };
        out.push(mark);
        out.extend(line);
        if !line.ends_with(b"\n") {
            out.extend(b"\n\\ No newline at end of file\n");
        }
        (x, y) = advanced(edit, x, y);
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::differ;

    fn hunks(old: &str, new: &str) -> String {
        String::from_utf8(differ(old.as_bytes(), new.as_bytes()).hunks).unwrap()
    }

    #[test]
    fn hunks_are_those_of_diff() {
        assert_eq!(hunks("a\n", "a\n"), "");
        assert_eq!(hunks("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(hunks("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
        assert_eq!(hunks("a", "a\n"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        let long: String = (1..=20).map(|number| format!("{number}\n")).collect();
        let changed = long.replace("\n3\n", "\nthree\n").replace("\n18\n", "\n");
        assert_eq!(
            hunks(&long, &changed),
            "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n\
             @@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n"
        );
        let difference = differ(long.as_bytes(), changed.as_bytes());
        assert_eq!((difference.added, difference.removed), (1, 2));
    }
}
