//! An engine process and the threads that serve its pipes.

use std::{
    io::{BufReader, Read, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, Sender, SyncSender},
    thread,
    time::Instant,
};

use super::{
    EngineConfig,
    messages::{Message, Stream},
};
use crate::Lines;

/// Maximum line length in bytes; longer lines are truncated.
const MAX_LINE_BYTES: usize = 1 << 16;

/// A running engine. Dropping it kills the process and its children and reaps it.
pub(super) struct Process {
    child: Child,
    /// `None` once standard input was closed.
    stdin: Option<Sender<String>>,
    /// Set when the process was reaped. Its id may be reused from then on.
    status: Option<ExitStatus>,
    /// Distinguishes messages of this process from those of earlier ones.
    pub(super) number: u32,
}

impl Process {
    pub(super) fn spawn(
        config: &EngineConfig,
        number: u32,
        outbox: &SyncSender<Message>,
    ) -> std::io::Result<Process> {
        let mut command = Command::new(&config.program);
        command.args(&config.args);
        if let Some(folder) = &config.working_dir {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A process group of its own, so that it can be killed with its children and does not receive Ctrl-C.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut process = Process { child, stdin: None, status: None, number };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("all three are piped");
        };
        // An error from here on drops, and thereby kills, the process.
        let (lines_in, lines) = mpsc::channel();
        spawn_thread("uci stdin", move || write(stdin, &lines))?;
        process.stdin = Some(lines_in);
        let to = outbox.clone();
        spawn_thread("uci stdout", move || read(stdout, Stream::Stdout, number, &to))?;
        let to = outbox.clone();
        spawn_thread("uci stderr", move || read(stderr, Stream::Stderr, number, &to))?;
        Ok(process)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line. A dead engine is detected when its output ends, not here.
    pub(super) fn send(&self, line: String) {
        if let Some(stdin) = &self.stdin {
            let _ = stdin.send(line);
        }
    }

    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Whether the process has exited. Does not reap it, so that its process group id stays valid.
    #[cfg(unix)]
    pub(super) fn has_exited(&mut self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), options).is_ok_and(|status| status.is_some())
    }

    #[cfg(not(unix))]
    pub(super) fn has_exited(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Kills and reaps the process and its children.
    pub(super) fn kill(&mut self) -> Option<ExitStatus> {
        self.close_stdin();
        if self.status.is_none() {
            // Both fail only if nothing is left to kill.
            #[cfg(unix)]
            let _ = rustix::process::kill_process_group(
                rustix::process::Pid::from_child(&self.child),
                rustix::process::Signal::KILL,
            );
            let _ = self.child.kill();
            self.status = self.child.wait().ok();
        }
        self.status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn_thread(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}

/// Runs on its own thread, so that an engine that does not read blocks nothing else.
fn write(mut pipe: ChildStdin, lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        if pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).is_err() {
            return;
        }
    }
}

fn read(pipe: impl Read, stream: Stream, process: u32, outbox: &SyncSender<Message>) {
    for line in Lines::new(BufReader::new(pipe), MAX_LINE_BYTES).map_while(Result::ok) {
        // The channel is bounded, which throttles engines that flood their output.
        if outbox.send(Message::Line { process, stream, line, at: Instant::now() }).is_err() {
            return;
        }
    }
    let _ = outbox.send(Message::Eof { process, stream });
}
