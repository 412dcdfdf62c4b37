//! The shortest way from one list of lines to another, after Myers.

use std::collections::HashMap;

/// Beyond this many edits the shortest way is not looked for: everything between what both have at
/// their ends then counts as replaced.
const MOST_EDITS: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edit {
    Keep,
    Remove,
    Add,
}

/// Lines with their ends; the last may have none.
pub fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// One edit for each line of both, those that are kept counted once.
pub fn edits(old: &[&[u8]], new: &[&[u8]]) -> Vec<Edit> {
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other);
    let end = end.count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut all = vec![Edit::Keep; start];
    all.extend(between(&numbered(old, new)));
    all.resize(all.len() + end, Edit::Keep);
    all
}

/// Equal lines get equal numbers, so that comparing them costs nothing.
fn numbered(old: &[&[u8]], new: &[&[u8]]) -> [Vec<u32>; 2] {
    let mut known = HashMap::new();
    [old, new].map(|lines| {
        let mut number = |line| {
            let next = known.len() as u32;
            *known.entry(line).or_insert(next)
        };
        lines.iter().map(|&line| number(line)).collect()
    })
}

fn between([old, new]: &[Vec<u32>; 2]) -> Vec<Edit> {
    let (rows, columns) = (old.len() as isize, new.len() as isize);
    let most = (old.len() + new.len()).min(MOST_EDITS) as isize;
    // `reached[k]`: how far down the diagonal k (old - new) one gets with so many edits.
    let width = (2 * most + 3) as usize;
    let at = |k: isize| (k + most + 1) as usize;
    let mut reached = vec![0isize; width];
    let mut history = Vec::new();
    for count in 0..=most {
        history.push(reached[at(-count - 1)..=at(count + 1)].to_vec());
        for k in (-count..=count).step_by(2) {
            let goes_down = k == -count || (k != count && reached[at(k - 1)] < reached[at(k + 1)]);
            let mut x = if goes_down { reached[at(k + 1)] } else { reached[at(k - 1)] + 1 };
            while x < rows && x - k < columns && old[x as usize] == new[(x - k) as usize] {
                x += 1;
            }
            reached[at(k)] = x;
            if x >= rows && x - k >= columns {
                return retrace(history, rows, columns);
            }
        }
    }
    let mut replaced = vec![Edit::Remove; old.len()];
    replaced.resize(old.len() + new.len(), Edit::Add);
    replaced
}

fn retrace(history: Vec<Vec<isize>>, rows: isize, columns: isize) -> Vec<Edit> {
    let (mut x, mut y) = (rows, columns);
    let mut back = Vec::new();
    for (count, reached) in history.into_iter().enumerate().rev() {
        let count = count as isize;
        let at = |k: isize| (k + count + 1) as usize;
        let k = x - y;
        let goes_down = k == -count || (k != count && reached[at(k - 1)] < reached[at(k + 1)]);
        let from_k = if goes_down { k + 1 } else { k - 1 };
        let (from_x, from_y) = match count {
            0 => (0, 0),
            _ => (reached[at(from_k)], reached[at(from_k)] - from_k),
        };
        while x > from_x && y > from_y {
            back.push(Edit::Keep);
            (x, y) = (x - 1, y - 1);
        }
        if count > 0 {
            back.push(if goes_down { Edit::Add } else { Edit::Remove });
        }
        (x, y) = (from_x, from_y);
    }
    back.reverse();
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the edits make of the old text.
    fn replay(old: &str, new: &str) -> (String, usize) {
        let (old, new) = (split(old.as_bytes()), split(new.as_bytes()));
        let (mut x, mut y, mut made, mut changes) = (0, 0, Vec::new(), 0);
        for edit in edits(&old, &new) {
            match edit {
                Edit::Keep => {
                    assert_eq!(old[x], new[y]);
                    made.extend(old[x]);
                    (x, y) = (x + 1, y + 1);
                }
                Edit::Remove => x += 1,
                Edit::Add => {
                    made.extend(new[y]);
                    y += 1;
                }
            }
            changes += usize::from(edit != Edit::Keep);
        }
        assert_eq!((x, y), (old.len(), new.len()));
        (String::from_utf8(made).unwrap(), changes)
    }

    #[test]
    fn edits_lead_from_one_text_to_the_other_the_short_way() {
        for (old, new, most) in [
            ("", "", 0),
            ("", "a\n", 1),
            ("a\n", "", 1),
            ("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 5),
            ("a\nb\nc\n", "a\nx\nc\n", 2),
            ("a\nb", "a\nb\n", 2),
            ("1\n2\n3\n4\n", "2\n3\n4\n5\n", 2),
        ] {
            let (made, changes) = replay(old, new);
            assert_eq!(made, new);
            assert_eq!(changes, most, "{old:?} {new:?}");
        }
        let numbers = |step: usize| (0..9_000).step_by(step).map(|n| format!("{n}\n")).collect();
        let (old, new): (String, String) = (numbers(2), numbers(3));
        assert_eq!(replay(&old, &new).0, new);
    }
}
