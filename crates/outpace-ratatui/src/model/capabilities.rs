//! The sequences that a terminal may be sent.

/// The characters that REP (`CSI n b`, print the character before again) may repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// None: REP is not used.
    #[default]
    Nothing,
    /// ASCII characters.
    Ascii,
    /// Every narrow character.
    Anything,
}

/// The sequences a terminal may be sent beyond printing, motion and colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Synchronized output (mode 2026): the terminal shows a frame only when it is complete.
    pub synchronized: bool,
    /// REP.
    pub repeat: Repeat,
    /// Inserting and deleting lines, within margins (IL, DL, DECSTBM).
    pub scroll: bool,
    /// Inserting and deleting characters (ICH, DCH).
    pub shift: bool,
    /// Erasing characters (ECH).
    pub erase_characters: bool,
    /// Erasing leaves the current background behind (BCE).
    pub erase_to_background: bool,
    /// `▀`, `▄`, `█` and space may stand for one another where that looks much the same: the seam between both halves may
    /// be a pixel higher or lower, and text that is copied has another symbol. Off unless [`Options::exchange_half_blocks`]
    /// says otherwise.
    ///
    /// [`Options::exchange_half_blocks`]: crate::Options::exchange_half_blocks
    pub half_blocks: bool,
    /// The cells of a picture may be drawn in any order within their row, where that saves colours.
    pub any_order: bool,
    /// The alternate screen is on: rows that scroll out do not reach the scrollback.
    pub alternate_screen: bool,
}

impl Capabilities {
    /// Whether symbols may stick out of their cells, as in xterm, which is one of the terminals that repeat ASCII alone.
    pub(crate) fn have_overhangs(self) -> bool {
        self.repeat == Repeat::Ascii
    }

    /// Whether the terminal may be xterm: it is not known, or it is a multiplexer, which may run in xterm.
    pub(crate) fn may_have_overhangs(self) -> bool {
        self.repeat != Repeat::Anything
    }

    /// The sequences that practically every terminal in use understands.
    pub const fn basic() -> Self {
        Self {
            synchronized: false,
            repeat: Repeat::Nothing,
            scroll: true,
            shift: true,
            erase_characters: true,
            erase_to_background: false,
            half_blocks: false,
            any_order: true,
            alternate_screen: true,
        }
    }

    /// The sequences that current xterm, alacritty, kitty, foot, wezterm and others understand.
    pub const fn full() -> Self {
        Self {
            synchronized: true,
            repeat: Repeat::Anything,
            erase_to_background: true,
            ..Self::basic()
        }
    }

    /// Printing, motion, colours and erasing to the default background only.
    pub const fn least() -> Self {
        Self {
            scroll: false,
            shift: false,
            erase_characters: false,
            any_order: false,
            ..Self::basic()
        }
    }
}
