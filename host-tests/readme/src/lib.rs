//! The commands that a page of documentation tells its reader to type, and the table of options
//! that stands beside it.

use clap::{Arg, ArgAction, Command};

/// Commands in blocks of text and between backticks that begin with one of `programs`, without their
/// comments, as words.
pub fn commands(page: &str, programs: &[&str]) -> Vec<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    let mut in_block = false;
    let mut is_text = false;
    let mut goes_on = false;
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
            is_text = line == "```text";
        } else if in_block && is_text {
            // As in a shell, a line goes on after a backslash at its end.
            let text = line.strip_suffix('\\').unwrap_or(line);
            match found.last_mut().filter(|_| goes_on) {
                Some(begun) => begun.push_str(text),
                None => found.push(text.to_owned()),
            }
            goes_on = text != line;
        } else if !in_block {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    let asked = |text: &String| {
        programs.iter().any(|program| {
            let rest = text.strip_prefix(program);
            rest.is_some_and(|rest| rest.starts_with(' '))
        })
    };
    found
        .iter()
        .filter(|text| asked(text))
        .map(|text| words(text))
        .collect()
}

/// Words as a shell splits them; `#` begins a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '#') if words.last().is_some_and(String::is_empty) => break,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Every option of every command, with its default, as a page.
pub fn options(title: &str, program: &Command) -> String {
    let mut page =
        format!("# {title}\n\nWritten by `DUNLIN_BLESS=1 cargo test`, from what `--help` says.\n");
    let everywhere = program
        .get_arguments()
        .filter(|option| option.is_global_set());
    page += "\n## Everywhere\n\n| option | default | what it is |\n|---|---|---|\n";
    page.extend(everywhere.map(row));
    for command in commands_of(program) {
        section(&mut page, program.get_name(), command);
    }
    page
}

fn commands_of(command: &Command) -> impl Iterator<Item = &Command> {
    let all = command.get_subcommands();
    all.filter(|command| command.get_name() != "help")
}

/// A command, and the commands in it.
fn section(page: &mut String, before: &str, command: &Command) {
    let shown = |option: &&Arg| !option.is_hide_set() && option.get_id() != "help";
    let options: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    let about = command
        .get_about()
        .map_or_else(String::new, ToString::to_string);
    let name = format!("{before} {}", command.get_name());
    *page += &format!("\n## {name}\n\n{about}.\n");
    if !options.is_empty() {
        *page += "\n| option | default | what it is |\n|---|---|---|\n";
        page.extend(options.into_iter().map(row));
    }
    for inner in commands_of(command) {
        section(page, &name, inner);
    }
}

fn row(option: &Arg) -> String {
    let values: Vec<String> = option
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    let values = values.join(" ");
    let takes = matches!(option.get_action(), ArgAction::Set | ArgAction::Append);
    let name = match option.get_long() {
        Some(long) if takes => format!("--{long} {values}"),
        Some(long) => format!("--{long}"),
        None => values,
    };
    let help = option
        .get_help()
        .map_or_else(String::new, ToString::to_string);
    let help = help.replace('|', "\\|").replace('\n', " ");
    let defaults = option.get_default_values();
    let (help, said) = match help.split_once("Default: ") {
        Some((help, said)) => (
            help.trim_end_matches([' ', '.']).to_owned(),
            Some(said.to_owned()),
        ),
        None => (help, None),
    };
    let default = match (defaults.first(), said) {
        (_, Some(said)) => said,
        (Some(default), _) if takes => format!("`{}`", default.to_string_lossy()),
        (_, _) if option.is_required_set() => "required".into(),
        (_, _) if takes => "none".into(),
        _ => "off".into(),
    };
    format!("| `{name}` | {default} | {help} |\n")
}

/// Compares a file with what it should hold, or writes it if `DUNLIN_BLESS` is set.
///
/// # Panics
/// They differ, or the file cannot be written.
pub fn compare(file: &std::path::Path, expected: &str) {
    if std::env::var_os("DUNLIN_BLESS").is_some() {
        std::fs::write(file, expected).expect("written");
    }
    let found = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        found == expected,
        "{} is not what --help says: write it with `DUNLIN_BLESS=1 cargo test` and look at the difference",
        file.display()
    );
}
