//! The commands that a page of documentation tells its reader to type, and the table of options
//! that stands beside it.

use clap::{Arg, ArgAction, Command};

/// Commands in blocks of text and between backticks that begin with one of `programs`, without
/// their comments, as words.
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

/// The block of a page that follows these words.
///
/// # Panics
/// There is none.
pub fn block_after(page: &str, words: &str) -> String {
    let (_, rest) = page
        .split_once(words)
        .unwrap_or_else(|| panic!("no {words:?}"));
    let block = rest.split("```").nth(1).expect("a block");
    block.split_once('\n').expect("a language").1.to_owned()
}

/// What a test makes of a command that it cannot run as it stands on a page.
#[derive(Debug)]
pub enum Exception {
    /// This is run in its place.
    Instead(&'static str),
    /// With these words behind, it is run until it would build firmware, and says this before.
    UntilItBuilds(&'static str, &'static str),
    /// It is not run, for this reason.
    Skipped(&'static str),
}

/// The exception for each command, if there is one in the table. Arguments of a command stand in
/// the table as they are typed, without the program's name.
///
/// # Panics
/// A row of the table is for no command: what it says is not true any more.
pub fn exceptions<'t>(
    commands: &[&[String]],
    table: &'t [(&str, Exception)],
) -> Vec<Option<&'t Exception>> {
    let mut unused: Vec<&str> = table.iter().map(|(command, _)| *command).collect();
    let of = |arguments: &&[String]| {
        let row = table.iter().find(|(row, _)| words(row) == **arguments)?;
        unused.retain(|command| *command != row.0);
        Some(&row.1)
    };
    let found = commands.iter().map(of).collect();
    assert_eq!(unused, [""; 0], "exceptions for no command of the page");
    found
}

/// A word of a page, or something in place of it where it stands for a number or for a file with the
/// URL of a broker.
pub fn filled_in(word: &str) -> &str {
    match word {
        "N" => "1",
        _ if word.starts_with('@') => "mqtt://p1:PASSWORD@127.0.0.1:1883/fleet",
        _ => word,
    }
}

/// Is it a command that a sentence only names, as `run` or `run --fleet`?
pub fn is_only_named(arguments: &[String], program: &Command) -> bool {
    let (name, option) = match arguments {
        [name] => (name, None),
        [name, option] => (name, option.strip_prefix("--")),
        _ => return false,
    };
    let Some(command) = program.find_subcommand(name) else {
        return name == "…";
    };
    let has = |wanted: &str| {
        let mut options = command.get_arguments();
        options.any(|option| option.get_long() == Some(wanted))
    };
    let inner = |name: &String| command.find_subcommand(name).is_some();
    arguments.len() == 1 || option.is_some_and(has) || arguments.get(1).is_some_and(inner)
}

/// Words as a shell splits them; `#` begins a comment.
pub fn words(line: &str) -> Vec<String> {
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
///
/// # Panics
/// A row of it could not be read as one.
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
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.for_each(check_row);
    page
}

/// A row of a table is one wherever Markdown is read, and what it says of defaults is true.
fn check_row(row: &str) {
    let bars = row.replace("\\|", "").matches('|').count();
    assert_eq!(bars, 4, "four bars that are not escaped: {row}");
    let default = row.contains("[default:");
    assert!(!default, "a default in its own column: {row}");
    let row = row.to_lowercase();
    let named = ["if not given", "is the default", "default:"];
    let named = named.iter().any(|words| row.contains(words));
    assert!(
        !named || !row.contains("| none |"),
        "a default that is none: {row}"
    );
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
    let (help, said) = split_default(&help.replace('\n', " "));
    let defaults = option.get_default_values();
    let default = match (defaults.first(), said) {
        (_, Some(said)) => said,
        (Some(default), _) if takes => format!("`{}`", default.to_string_lossy()),
        (_, _) if option.is_required_set() => "required".into(),
        (_, _) if takes => "none".into(),
        _ => "off".into(),
    };
    let [name, default, help] = [name, default, help].map(|cell| cell.replace('|', "\\|"));
    format!("| `{name}` | {default} | {help} |\n")
}

/// What an option is, and the default that the text names because the parser does not know it: at
/// its end as `Default: …`, or anywhere as `[default: …]`.
fn split_default(help: &str) -> (String, Option<String>) {
    if let Some((before, rest)) = help.split_once("[default: ")
        && let Some((said, after)) = rest.split_once(']')
    {
        let help = format!("{}{after}", before.trim_end());
        return (help, Some(said.to_owned()));
    }
    match help.split_once("Default: ") {
        Some((help, said)) => {
            let help = help.trim_end_matches([' ', '.']);
            (help.to_owned(), Some(said.to_owned()))
        }
        None => (help.to_owned(), None),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_three_cells_and_the_default_in_the_second() {
        let program = Command::new("test")
            .arg(
                Arg::new("budget")
                    .long("budget")
                    .value_name("X|max")
                    .help("Fetches a day, a|b [default: 24 a page]"),
            )
            .arg(
                Arg::new("out")
                    .long("out")
                    .value_name("DIR")
                    .help("Where. Default: here|there"),
            )
            .arg(
                Arg::new("plain")
                    .long("plain")
                    .value_name("N")
                    .default_value("1|2"),
            );
        let rows: Vec<String> = program.get_arguments().map(row).collect();
        assert_eq!(
            rows,
            [
                "| `--budget X\\|max` | 24 a page | Fetches a day, a\\|b |\n",
                "| `--out DIR` | here\\|there | Where |\n",
                "| `--plain N` | `1\\|2` |  |\n",
            ]
        );
        rows.iter().for_each(|row| check_row(row));
    }

    #[test]
    fn an_exception_is_for_a_command_of_the_page() {
        let run = words("run 'a b' --seconds 3");
        let plan = words("plan PAGES.csv");
        let all = [&run[..], &plan];
        let table = [("run 'a b' --seconds 3", Exception::Skipped("long"))];
        let found = exceptions(&all, &table);
        assert!(matches!(
            found[..],
            [Some(Exception::Skipped("long")), None]
        ));
        let other = [("run 'a b'", Exception::Skipped("long"))];
        assert!(std::panic::catch_unwind(|| exceptions(&all, &other)).is_err());
    }

    #[test]
    fn a_command_that_a_sentence_names_is_no_command_to_type() {
        let run = Command::new("run").arg(Arg::new("fleet").long("fleet").num_args(1));
        let init = Command::new("fleet").subcommand(Command::new("init"));
        let program = Command::new("dunlin").subcommands([run, init]);
        let named = |line: &str| is_only_named(&words(line), &program);
        assert!(named("run") && named("run --fleet") && named("fleet init") && named("…"));
        assert!(!named("ran") && !named("run --flat") && !named("run PAGES.csv --fleet"));
        assert!(!named("run PAGES.csv") && !named("fleet stop"));
    }

    #[test]
    fn a_default_that_hides_beside_none_is_seen() {
        for help in ["a tenth if not given", "USER is the default", "default: 5"] {
            let row = format!("| `--pages N` | none | Pages; {help} |");
            let seen = std::panic::catch_unwind(|| check_row(&row));
            assert!(seen.is_err(), "{row}");
        }
        check_row("| `--pages N` | none | Pages, by default all hosts' |");
    }

    #[test]
    #[should_panic(expected = "four bars")]
    fn a_row_that_a_bar_breaks_is_seen() {
        check_row("| `--budget X|max` | none | Fetches a day |");
    }
}
