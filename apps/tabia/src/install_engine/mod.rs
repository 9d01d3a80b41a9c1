//! `tabia install-engine`: a player in the engine lists of chess programs.

mod folders;
mod launcher;
mod lists;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tabia_cli::{PlayerFactory, write_atomically};
use tabia_players::Spec;

use self::folders::Folders;
use self::launcher::Launcher;
use self::lists::{Entry, Program};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tabia install-engine                                    what would be done, for the bundled opponent at 1500
  tabia install-engine --write
  tabia install-engine --player human,elo=1100 --name 'Tabia 1100' --write
  tabia install-engine --player maia-1900.pb.gz --program nibbler --write
  tabia install-engine --list banksia=/path/to/engines.json --write

Chess programs start an engine without arguments, so a small script that starts `tabia uci` with the player is written first.
Close the programs before: they write their lists when they end. See docs/guides/chess-programs.md.")]
pub(crate) struct Args {
    /// The player: a spec, or a model file.
    #[arg(long, value_name = "SPEC", default_value = "human,elo=1500", value_parser = tabia_cli::player_spec)]
    player: Spec,
    /// Its name in the programs [default: \"Tabia\" and the player].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// These programs only [default: all that are found].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PROGRAMS")]
    program: Vec<Program>,
    /// The engine list of a program that keeps it elsewhere; may be given several times.
    #[arg(long, value_name = "PROGRAM=FILE", value_parser = lists::program_and_file)]
    list: Vec<(Program, PathBuf)>,
    /// Write; without it, only say what would be done.
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let spec = absolute(&args.player)?;
    // A player that cannot be built would be an engine that does not start.
    PlayerFactory::default().make(&spec, 0).with_context(|| format!("--player {spec}"))?;
    let name = args.name.clone().unwrap_or_else(|| format!("Tabia {}", args.player));
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        bail!("--name {name:?} (expected a name on one line)");
    }
    let folders = Folders::of_user()?;
    let launcher = Launcher::new(&name, &spec, &folders)?;
    let lists = lists_of(args, &folders);
    let entry =
        Entry { name: &name, program: &launcher.program, spec: &launcher.spec, path: launcher.path() };
    // Everything is read before anything is written.
    let changes = lists
        .iter()
        .map(|(program, list)| Change::new(*program, list, &entry))
        .collect::<Result<Vec<_>>>()?;

    let will = if args.write { "" } else { "would be " };
    let state = if launcher.is_written() { "there already".to_owned() } else { format!("{will}written") };
    println!("{:13} {}: {state}", "engine", launcher.path().display());
    if args.write {
        launcher.write()?;
    }
    for change in &changes {
        let done = match &change.after {
            None => "there already".to_owned(),
            Some(_) if !args.write => "would be added".to_owned(),
            Some(text) => match change.save(text)? {
                None => "added".to_owned(),
                Some(backup) => format!("added (before: {})", backup.display()),
            },
        };
        println!("{:13} {}: {done}", change.program.title(), change.list.display());
    }
    for program in Program::ALL.into_iter().filter(|program| is_asked_for(args, *program)) {
        if let (false, Some(list)) =
            (lists.iter().any(|(found, _)| *found == program), program.list(&folders))
        {
            println!("{:13} not found ({})", program.title(), list.parent().unwrap_or(&list).display());
        }
    }
    println!("\nIn other programs, add a UCI engine and choose {}", launcher.path().display());
    for program in Program::ALL.into_iter().filter(|program| is_asked_for(args, *program)) {
        println!("  {:13} {}", program.title(), program.by_hand());
    }
    if !args.write {
        println!("\nNothing was written: --write does it. Close the programs before.");
    }
    Ok(())
}

fn is_asked_for(args: &Args, program: Program) -> bool {
    args.program.is_empty() || args.program.contains(&program)
}

/// The lists to change: those named, and those of programs that are there.
fn lists_of(args: &Args, folders: &Folders) -> Vec<(Program, PathBuf)> {
    let is_named = |program: &Program| args.list.iter().any(|(named, _)| named == program);
    let found = Program::ALL.into_iter().filter(|program| is_asked_for(args, *program) && !is_named(program));
    let found = found.filter_map(|program| {
        let list = program.list(folders)?;
        // A program that has no engines yet may have no list either.
        list.parent().is_some_and(Path::exists).then_some((program, list))
    });
    args.list.iter().cloned().chain(found).collect()
}

/// The spec with the path of its model file from the root: programs start engines anywhere.
fn absolute(spec: &Spec) -> Result<Spec> {
    let mut spec = spec.clone();
    if let Some(file) = spec.file() {
        let file = fs::canonicalize(file).with_context(|| file.display().to_string())?;
        spec.set_file(Some(file));
    }
    Ok(spec)
}

/// The change of one list.
struct Change {
    program: Program,
    list: PathBuf,
    /// Whether the list is there.
    exists: bool,
    /// Its new text; `None` if nothing changes.
    after: Option<String>,
}

impl Change {
    fn new(program: Program, list: &Path, entry: &Entry<'_>) -> Result<Change> {
        let shown = || format!("{} ({})", list.display(), program.title());
        let exists = list.exists();
        let list = if exists { fs::canonicalize(list).with_context(shown)? } else { list.to_owned() };
        let before = if exists { fs::read_to_string(&list).with_context(shown)? } else { String::new() };
        let mut engines: Option<Value> = match before.trim() {
            "" => None,
            text => {
                Some(serde_json::from_str(text).with_context(|| format!("{}: not as expected", shown()))?)
            }
        };
        let added = program.add(&mut engines, entry).with_context(shown)?;
        let after = engines.filter(|_| added).map(|engines| program.text(&engines)).transpose()?;
        Ok(Change { program, list, exists, after })
    }

    /// Writes the list; the backup of the one before.
    fn save(&self, text: &str) -> Result<Option<PathBuf>> {
        let backup = self.exists.then(|| free_name(&self.list));
        if let Some(backup) = &backup {
            fs::copy(&self.list, backup).with_context(|| backup.display().to_string())?;
        }
        write_atomically(&self.list, text.as_bytes())?;
        Ok(backup)
    }
}

/// The name of a backup that is not taken.
fn free_name(list: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = list.as_os_str().to_owned();
        name.push(if number == 0 { ".bak".to_owned() } else { format!(".bak{number}") });
        PathBuf::from(name)
    };
    (0..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0))
}
