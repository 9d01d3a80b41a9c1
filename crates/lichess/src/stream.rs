//! A thread that reads a stream of lines and passes them on.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use crate::{
    RequestError,
    client::{Client, StreamHandle},
};

/// What a stream passes on.
pub(crate) enum FromStream<T> {
    /// It is open.
    Opened,
    /// A line that is not blank.
    Line(T),
    /// A line that is not what it should be, and why.
    Unreadable(String),
    /// It has ended: `None` where the server closed it.
    Ended(Option<RequestError>),
}

/// A stream that is being read. Dropping it closes the connection.
pub(crate) struct Stream {
    handle: Arc<Mutex<Connection>>,
}

#[derive(Default)]
struct Connection {
    handle: Option<StreamHandle>,
    closed: bool,
}

impl Stream {
    /// Starts reading. `parse` reads a line, `pass` gets what there is, until it returns false.
    pub(crate) fn start<T: 'static, E: std::fmt::Display + 'static>(
        client: &Arc<Client>,
        path: String,
        parse: fn(&str) -> Result<Option<T>, E>,
        pass: impl Fn(FromStream<T>) -> bool + Send + 'static,
    ) -> Stream {
        let handle = Arc::new(Mutex::new(Connection::default()));
        let (client, shared) = (Arc::clone(client), Arc::clone(&handle));
        thread::spawn(move || {
            let ended = read(&client, &path, &shared, parse, &pass).err();
            pass(FromStream::Ended(ended));
        });
        Stream { handle }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut connection = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        connection.closed = true;
        if let Some(handle) = connection.handle.take() {
            handle.close();
        }
    }
}

/// Reads to the end.
fn read<T, E: std::fmt::Display>(
    client: &Client,
    path: &str,
    shared: &Mutex<Connection>,
    parse: fn(&str) -> Result<Option<T>, E>,
    pass: &impl Fn(FromStream<T>) -> bool,
) -> Result<(), RequestError> {
    let (mut lines, handle) = client.open(path)?;
    {
        let mut connection = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.closed {
            handle.close();
            return Ok(());
        }
        connection.handle = Some(handle);
    }
    if !pass(FromStream::Opened) {
        return Ok(());
    }
    while let Some(line) = lines.next()? {
        let goes_on = match parse(&line) {
            Ok(None) => true,
            Ok(Some(line)) => pass(FromStream::Line(line)),
            // It may quote the line.
            Err(error) => {
                let plain = error.to_string().chars().filter(|c| !c.is_control()).collect();
                pass(FromStream::Unreadable(plain))
            }
        };
        if !goes_on {
            break;
        }
    }
    Ok(())
}
