//! A window with the system's web view.

use anyhow::{Context as _, Result};
use tao::dpi::LogicalSize;
use tao::event::{Event, WindowEvent};
use tao::event_loop::{ControlFlow, EventLoop};
use tao::window::WindowBuilder;
use wry::WebViewBuilder;

/// Shows a page until its window is closed, which ends the program.
pub(crate) fn show(address: &str) -> Result<()> {
    let events = EventLoop::new();
    let window = WindowBuilder::new()
        .with_title("Tabia")
        .with_inner_size(LogicalSize::new(1280.0, 820.0))
        .with_min_inner_size(LogicalSize::new(360.0, 480.0))
        .build(&events)
        .context("no window can be opened: is there a display?")?;
    let origin = origin_of(address).to_owned();
    let view = WebViewBuilder::new()
        .with_url(address)
        // Links to other sites are not followed.
        .with_navigation_handler(move |to| origin_of(&to) == origin);
    #[cfg(target_os = "linux")]
    let view = {
        use tao::platform::unix::WindowExtUnix as _;
        use wry::WebViewBuilderExtUnix as _;
        view.build_gtk(window.default_vbox().context("the window has no place for a page")?)
    };
    #[cfg(not(target_os = "linux"))]
    let view = view.build(&window);
    let view = view.context("the system's web view does not start")?;

    events.run(move |event, _, flow| {
        *flow = ControlFlow::Wait;
        // Keep it until the loop ends.
        let _kept = (&window, &view);
        if let Event::WindowEvent { event: WindowEvent::CloseRequested, .. } = event {
            *flow = ControlFlow::Exit;
        }
    })
}

/// Scheme, host and port of an address.
fn origin_of(address: &str) -> &str {
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address.get(host..).and_then(|rest| rest.find('/')).map_or(address.len(), |at| host + at);
    address.get(..end).unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_servers_have_another_origin() {
        assert_eq!(origin_of("http://127.0.0.1:5001/#/play"), "http://127.0.0.1:5001");
        assert_eq!(origin_of("http://127.0.0.1:5001"), "http://127.0.0.1:5001");
        assert_ne!(origin_of("http://127.0.0.1:50010/"), "http://127.0.0.1:5001");
        assert_eq!(origin_of("about:blank"), "about:blank");
    }
}
