//! The keys of the picture.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    End,
    Pause,
    Scale,
    Up,
    Down,
    Nothing,
}

/// What this key asks for.
pub(super) fn wish(key: KeyEvent) -> Wish {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Wish::End,
        KeyCode::Char('q') | KeyCode::Esc => Wish::End,
        KeyCode::Char('p' | ' ') => Wish::Pause,
        KeyCode::Char('s') => Wish::Scale,
        KeyCode::Up | KeyCode::PageUp | KeyCode::Char('k') => Wish::Up,
        KeyCode::Down | KeyCode::PageDown | KeyCode::Char('j') => Wish::Down,
        _ => Wish::Nothing,
    }
}
