//! The client drives the real Stockfish.
#![cfg(target_os = "linux")] // looks for processes in /proc

use std::path::Path;

use shakmaty::{Color, Position as _};
use tabia_uci::{
    client::{Client, Fault, Launch},
    message::{GameSoFar, Go, OptionKind},
};

fn weakest(stockfish: &str) -> Client {
    let client =
        Client::start(Launch::new(stockfish).option("Threads", "1").option("Hash", "1")).expect("it starts");
    let elo = client.about().options.iter().find(|spec| spec.name == "UCI_Elo").expect("it has an Elo");
    let OptionKind::Spin { min, .. } = elo.kind else { panic!("{elo}") };
    client.set_option("UCI_LimitStrength", Some("true")).expect("it is offered");
    client.set_option("UCI_Elo", Some(&min.to_string())).expect("it is offered");
    client
}

#[test]
fn ten_quick_games_against_itself() {
    let Some(stockfish) = tabia_requires::stockfish() else { return };
    let players = [weakest(stockfish), weakest(stockfish)];
    assert!(players[0].about().name.starts_with("Stockfish"));
    let mut moves = 0;
    for number in 0..10 {
        players.iter().for_each(|player| player.new_game().unwrap());
        let mut game = GameSoFar::default();
        while !game.current().is_game_over() && game.moves().len() < 120 {
            let seat = usize::from((game.current().turn() == Color::Black) != (number % 2 == 1));
            let thought = players[seat].think(&game, &Go::nodes(1000)).unwrap();
            assert!(game.push(thought.best));
            assert!(thought.lines.iter().all(|line| !line.pv.is_empty() || line.score.is_some()));
        }
        moves += game.moves().len();
    }
    assert!(moves > 200, "{moves}");
    let processes: Vec<u32> = players.iter().map(|player| player.process_id().unwrap()).collect();
    assert!(players.iter().all(|player| player.restarts() == 0));
    drop(players);
    assert!(processes.iter().all(|id| !Path::new("/proc").join(id.to_string()).exists()));
}

#[test]
fn several_lines_with_wdl_until_stopped() {
    let Some(stockfish) = tabia_requires::stockfish() else { return };
    let launch = Launch::new(stockfish).option("MultiPV", "3").option("UCI_ShowWDL", "true");
    let client = Client::start(launch).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let thinking = client.begin(&GameSoFar::default(), &Go::infinite(), move |info| {
        // Nobody listens after the first few.
        let _ = tell.send(info.multipv);
    });
    while told.recv().unwrap() != Some(3) {}
    thinking.interrupt().stop();
    let thought = thinking.wait().unwrap();
    assert_eq!(thought.lines.len(), 3);
    assert!(
        thought.lines.iter().all(|line| line.wdl.is_some_and(|wdl| wdl.win + wdl.draw + wdl.loss == 1000))
    );
}

#[test]
fn an_option_out_of_range_says_the_range() {
    let Some(stockfish) = tabia_requires::stockfish() else { return };
    let Err(Fault::Option { engine, fault }) = Client::start(Launch::new(stockfish).option("UCI_Elo", "100"))
    else {
        panic!("nobody is that weak");
    };
    assert!(engine.starts_with("Stockfish"));
    assert!(fault.to_string().contains("takes a whole number from"), "{fault}");
}
