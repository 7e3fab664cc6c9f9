//! Digests made slowly and obviously, stage by stage, each on a whole copy of the text: what the
//! fast one must equal.

use sql::Options;

/// The digest text of `sql`.
pub(crate) fn digest(sql: &[u8], options: &Options) -> Vec<u8> {
    let plain = values(sql, options);
    let tight = blanks(&plain, options);
    let mut text = if options.grouping_limit == 0 { tight } else { lists(&tight, options.grouping_limit) };
    if options.grouping_limit > 0 && options.groups_grouping_limit > 0 {
        text = groups(&text, options.grouping_limit, options.groups_grouping_limit);
    }
    while text.len() > 1 && (text.ends_with(b" ") || text.ends_with(b";")) {
        text.pop();
    }
    if let Some(end) = text.iter().position(|byte| *byte == 0) {
        text.truncate(end);
    }
    text
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn space(byte: u8) -> bool {
    b" \t\n\r".contains(&byte)
}

fn operator(byte: u8) -> bool {
    b"+-*/%".contains(&byte)
}

/// Stage 1: comments go, values become `?`, blanks become one.
fn values(sql: &[u8], options: &Options) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut before = 0;
    let mut i = 0;
    let at = |i: usize| sql.get(i).copied().unwrap_or(0);
    while i < sql.len() {
        let c = sql[i];
        let line_comment =
            |i: usize| sql.len() > i + 2 && at(i) == b'-' && at(i + 1) == b'-' && space(at(i + 2));
        if sql.len() > i + 2 && c == b'/' && at(i + 1) == b'*' {
            i = comment(sql, i, &mut before, &mut out, options);
        } else if c == b'#' {
            while i < sql.len() && at(i) != b'\n' && at(i) != b'\r' {
                i += 1;
            }
            i += 1;
            before = b' ';
        } else if line_comment(i) && (before != b'-' || i == 0) {
            loop {
                if line_comment(i) && sql.len() >= i + 4 {
                    i += 3;
                }
                i += 1;
                if i > sql.len() || at(i - 1) == b'\n' || at(i - 1) == b'\r' {
                    break;
                }
            }
            before = b' ';
        } else if c == b'\'' || c == b'"' {
            i = quoted(sql, i, &mut before, &mut out);
        } else if c.is_ascii_digit() && !word(before) {
            let (text, end) = number(&sql[i..]);
            before = *text.last().unwrap();
            out.extend(text.iter().map(|b| if options.lowercase { b.to_ascii_lowercase() } else { *b }));
            i += end;
        } else if options.replace_null
            && !word(before)
            && sql.len() >= i + 4
            && sql[i..i + 4].eq_ignore_ascii_case(b"null")
            && !word(at(i + 4))
        {
            out.push(b'?');
            before = b'?';
            i += 4;
        } else if space(c) {
            if !out.is_empty() {
                if !(space(before) && out.ends_with(b" ")) {
                    out.push(b' ');
                }
                before = b' ';
            }
            i += 1;
        } else {
            out.push(if options.lowercase { c.to_ascii_lowercase() } else { c });
            before = c;
            i += 1;
        }
    }
    out
}

/// A quoted text that begins at `i`; where reading goes on.
fn quoted(sql: &[u8], i: usize, before: &mut u8, out: &mut Vec<u8>) -> usize {
    let at = |i: usize| sql.get(i).copied().unwrap_or(0);
    let (quote, mut i) = (at(i), i + 1);
    while i < sql.len() {
        if at(i) == b'\\' || at(i) == quote && at(i + 1) == quote && sql.len() > i + 1 {
            i += 2;
        } else if at(i) == quote {
            out.push(b'?');
            *before = 0;
            return i + 1;
        } else {
            i += 1;
        }
    }
    i
}

/// A comment that begins at `i`; where reading goes on.
fn comment(sql: &[u8], i: usize, before: &mut u8, out: &mut Vec<u8>, options: &Options) -> usize {
    let command = sql[i + 2] == b'!';
    let body = i + 2 + usize::from(command);
    if body + 1 >= sql.len() {
        *before = b'/';
        return body;
    }
    let mut end = body;
    let mut last = *before;
    while end < sql.len() && !(last == b'*' && sql[end] == b'/') {
        last = sql[end];
        end += 1;
    }
    if end == sql.len() {
        return end;
    }
    if command || options.keep_comment {
        let mut kept = sql[body..=end].to_vec();
        let mark = |byte: &u8| byte.is_ascii_digit() || b"/*! ".contains(byte);
        if options.keep_comment {
            kept.splice(0..0, *b"/*");
        } else {
            kept.truncate(kept.len().saturating_sub(2));
        }
        let marks = kept.iter().take_while(|byte| mark(byte)).count();
        if marks < kept.len() {
            if !options.keep_comment {
                kept.drain(..marks);
            }
            out.extend(kept);
        }
    }
    if !out.is_empty() && !out.ends_with(b" ") {
        out.push(b' ');
    }
    *before = b' ';
    end + 1
}

/// What a text that begins with a digit gives, and how much of it that is.
fn number(text: &[u8]) -> (Vec<u8>, usize) {
    let mut i = 0;
    loop {
        let sign = i > 0 && b"eE".contains(&text[i - 1]) && b"+-".contains(&text[i]);
        let last = i + 1 == text.len();
        let part = word(text[i]) || text[i] == b'.' || sign;
        if !part || last {
            let is_number = i == 0 || all_number(&text[..i]);
            return match (is_number, word(text[i])) {
                (true, true) => (b"?".to_vec(), i + 1),
                (true, false) => (b"?".to_vec(), i),
                (false, true) => (text[..=i].to_vec(), i + 1),
                (false, false) => (text[..i].to_vec(), i),
            };
        }
        i += 1;
    }
}

fn all_number(text: &[u8]) -> bool {
    if text.starts_with(b"0x") || text.starts_with(b"0X") {
        return text[2..].iter().all(u8::is_ascii_hexdigit);
    }
    (0..text.len()).all(|i| {
        let sign = i > 0 && b"eE".contains(&text[i - 1]) && b"+-".contains(&text[i]);
        text[i].is_ascii_digit() || b".eE".contains(&text[i]) || sign
    })
}

/// Stage 2, in place in one buffer as ProxySQL does it: blanks and signs that say nothing go.
fn blanks(text: &[u8], options: &Options) -> Vec<u8> {
    let mut buffer = text.to_vec();
    buffer.push(0);
    let mut write = 0;
    for read in 0..text.len() {
        let byte = buffer[read];
        let right = buffer[read + 1];
        let left = if read > 0 { buffer[read - 1] } else { b'0' };
        let second = if read > 1 { buffer[read - 2] } else { b'0' };
        let drop = if byte == b' ' {
            if left == b'(' || right == b')' {
                true
            } else if operator(left) && right == b'?' || left == b',' || right == b',' {
                !(options.keep_comment && second == b'*' && left == b'/')
            } else {
                operator(right) && left == b'?'
            }
        } else if byte == b'+' || byte == b'-' {
            let value = if left == b' ' { second } else { left };
            if word(value) {
                left == b' '
            } else {
                value != b'?' && value != b')' && (right == b'?' || right == b' ')
            }
        } else if options.no_digits && byte.is_ascii_digit() {
            if write > 0 && buffer[write - 1] != b'?' {
                buffer[write] = b'?';
                write += 1;
            }
            continue;
        } else {
            false
        };
        if !drop {
            buffer[write] = byte;
            write += 1;
        }
    }
    buffer.truncate(write);
    buffer
}

/// Stage 3: long lists in parentheses.
fn lists(text: &[u8], limit: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut inside = false;
    let mut i = 0;
    let at = |i: usize| text.get(i).copied().unwrap_or(0);
    while i < text.len() {
        if inside && out.len() > 4 && out.ends_with(b",...") && i + 1 < text.len() {
            let mut end = i + usize::from(at(i) == b',');
            let mut closed = false;
            while end + 1 < text.len() {
                if at(end) == b'?' && at(end + 1) == b',' {
                    end += 2;
                } else {
                    closed = at(end) == b'?' && at(end + 1) == b')';
                    end += usize::from(closed);
                    break;
                }
            }
            if closed || end > i + 1 {
                i = end;
            }
            if i >= text.len() {
                break;
            }
        }
        let begins = at(i) == b'?' && at(i + 1) == b',' && at(i + 2) == b'?' && b",)".contains(&at(i + 3));
        if inside && begins && !operator(at(i.wrapping_sub(1))) {
            let mut end = i;
            while end + 1 < text.len() && at(end) == b'?' && at(end + 1) == b',' {
                end += 2;
            }
            let count = (end - i) / 2;
            let closed = end + 1 < text.len() && at(end + 1) == b')';
            if 2 * count + usize::from(closed) >= 2 * limit + 3 {
                out.extend(b"?,".repeat(limit));
                out.extend(b"...");
                i = if closed { end + 1 } else { end - 1 };
            } else {
                out.extend(&text[i..end]);
                i = end;
            }
        } else {
            out.push(at(i));
            match at(i) {
                b'(' => inside = true,
                b')' => inside = false,
                _ => {}
            }
            i += 1;
        }
    }
    out
}

/// Stage 4: many equal lists.
fn groups(text: &[u8], limit: usize, groups: usize) -> Vec<u8> {
    let group = [b"(".as_slice(), &b"?,".repeat(limit), b"...)"].concat();
    let mut out: Vec<u8> = Vec::new();
    let mut i = 0;
    while i < text.len() {
        if out.len() > 5 && out.ends_with(b"),...") {
            let mut end = i + usize::from(text[i] == b',' || text[i] == b' ');
            while text.get(end..).is_some_and(|text| text.starts_with(&group)) {
                end += group.len();
                end += usize::from(end + 1 != text.len());
            }
            if end > i + 1 {
                i = end - 1;
                continue;
            }
            if end + 1 >= text.len() {
                break;
            }
        }
        let mut end = i;
        let mut count = 0;
        while text.get(end..).is_some_and(|text| text.starts_with(&group)) {
            end += group.len();
            end += usize::from(text.get(end) == Some(&b','));
            count += 1;
        }
        if count > groups {
            out.extend(&text[i..i + groups * (group.len() + 1)]);
            out.extend(b"...");
            i = end;
        }
        if let Some(byte) = text.get(i) {
            out.push(*byte);
            i += 1;
        }
    }
    out
}
