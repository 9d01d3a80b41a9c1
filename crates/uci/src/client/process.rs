//! One engine process and the threads at its pipes.

use std::{
    io::{BufReader, Read, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, Sender, SyncSender},
    thread,
    time::Instant,
};

use super::{
    Launch,
    messages::{Message, Stream},
};
use crate::Lines;

/// The longest line an engine may say, in bytes; the rest of a longer one is dropped.
const LONGEST_LINE: usize = 1 << 16;

/// A running engine. Dropping it kills the process and all it started, and leaves no zombie.
pub(super) struct Process {
    child: Child,
    /// Gone once the engine was told that nothing more comes.
    input: Option<Sender<String>>,
    /// Set when it was reaped: its number may be another's from then on.
    status: Option<ExitStatus>,
    /// Tells this process's messages from those of an earlier one.
    pub(super) number: u32,
}

impl Process {
    pub(super) fn spawn(
        launch: &Launch,
        number: u32,
        outbox: &SyncSender<Message>,
    ) -> std::io::Result<Process> {
        let mut command = Command::new(&launch.program);
        command.args(&launch.arguments);
        if let Some(folder) = &launch.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: so that it can be killed with all it started, and Ctrl-C does not reach it first.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut process = Process { child, input: None, status: None, number };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("all three were asked for");
        };
        // From here on a failure drops, and so kills, the process.
        let (input, lines) = mpsc::channel();
        start("uci stdin", move || write(stdin, &lines))?;
        process.input = Some(input);
        let to = outbox.clone();
        start("uci stdout", move || read(stdout, Stream::Output, number, &to))?;
        let to = outbox.clone();
        start("uci stderr", move || read(stderr, Stream::Errors, number, &to))?;
        Ok(process)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line. An engine that has ended is noticed by its silence, not here.
    pub(super) fn say(&self, line: String) {
        if let Some(input) = &self.input {
            // The thread at the pipe ends with the pipe.
            let _ = input.send(line);
        }
    }

    /// Tells the engine that nothing more comes.
    pub(super) fn close(&mut self) {
        self.input = None;
    }

    /// Whether it has ended by itself. It is not reaped yet, so that its group's number is still its own.
    #[cfg(unix)]
    pub(super) fn ended(&mut self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), look).is_ok_and(|status| status.is_some())
    }

    #[cfg(not(unix))]
    pub(super) fn ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Ends it, whatever it does, and all it started; gives how it ended.
    pub(super) fn kill(&mut self) -> Option<ExitStatus> {
        self.close();
        if self.status.is_none() {
            // Both fail only where nothing is left to kill.
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

fn start(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}

/// A thread of its own, so that an engine that does not read blocks nobody.
fn write(mut pipe: ChildStdin, lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        if pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).is_err() {
            return;
        }
    }
}

fn read(pipe: impl Read, stream: Stream, process: u32, outbox: &SyncSender<Message>) {
    for line in Lines::new(BufReader::new(pipe), LONGEST_LINE).map_while(Result::ok) {
        // The channel is bounded: an engine that floods is slowed down.
        if outbox.send(Message::Said { process, stream, line, at: Instant::now() }).is_err() {
            return;
        }
    }
    // Nobody is left to tell.
    let _ = outbox.send(Message::Ended { process, stream });
}
