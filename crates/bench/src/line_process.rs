use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A contender in a child process with a line protocol. The process is killed when this is dropped.
pub struct LineProcess {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl LineProcess {
    /// Starts it; standard error is inherited.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let commands = process.stdin.take().expect("stdin is piped");
        let answers = BufReader::new(process.stdout.take().expect("stdout is piped"));
        Ok(LineProcess { process, commands, answers })
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.commands, "{line}")
    }

    /// Receives a line.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn answer(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process has ended"));
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
