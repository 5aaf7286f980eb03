//! The cells of one row.
//!
//! A screen of 120x40 cells is 19 pages of memory, and the system takes about as long for a page as the renderer for a row. So the rows of a
//! blank screen are one, and a row that was drawn once is one in the screen that is wanted, in the one that is shown, and in those
//! on their way. A row that is changed again has memory of its own in each from then on: copying it into new memory in each frame
//! would take longer.

use std::ops::Range;
use std::sync::Arc;

use super::cell::Cell;

/// The cells of one row.
#[derive(Debug)]
pub(super) struct Row {
    cells: Cells,
    /// The row was in common with other screens, by its contents. It is not [shared](Self::share) again.
    was_shared: bool,
}

#[derive(Debug)]
enum Cells {
    /// Of one row alone. Found without an atomic operation.
    Own(Box<[Cell]>),
    /// Perhaps of several.
    Common(Arc<Box<[Cell]>>),
}

impl Row {
    /// A row of so many cells, all alike.
    pub(super) fn filled(width: usize, cell: Cell) -> Self {
        Self {
            cells: Cells::Common(Arc::new(vec![cell; width].into())),
            was_shared: false,
        }
    }

    #[inline]
    pub(super) fn cells(&self) -> &[Cell] {
        match &self.cells {
            Cells::Own(cells) => cells,
            Cells::Common(cells) => cells,
        }
    }

    /// The cells, which are of this row alone from now on.
    #[inline]
    pub(super) fn cells_mut(&mut self, spare: &mut Spare) -> &mut [Cell] {
        if let Cells::Common(_) = self.cells {
            self.separate(spare);
        }
        match &mut self.cells {
            Cells::Own(cells) => cells,
            Cells::Common(cells) => Arc::make_mut(cells).as_mut(),
        }
    }

    /// Changes those of its cells for which `is_one` holds. A row without one stays in common with others.
    pub(super) fn change_those(
        &mut self,
        columns: Range<usize>,
        spare: &mut Spare,
        is_one: impl Fn(Cell) -> bool,
        mut change: impl FnMut(&mut Cell),
    ) {
        let some = self.cells()[columns.clone()]
            .iter()
            .any(|cell| is_one(*cell));
        if some {
            let cells = self.cells_mut(spare)[columns].iter_mut();
            cells.filter(|cell| is_one(**cell)).for_each(&mut change);
        }
    }

    #[cold]
    fn separate(&mut self, spare: &mut Spare) {
        if let Cells::Common(cells) = &mut self.cells {
            let own = match Arc::get_mut(cells) {
                Some(cells) => std::mem::take(cells),
                None => spare.copy(cells),
            };
            self.cells = Cells::Own(own);
        }
    }

    /// Lets other screens have the row, too, unless they had it before.
    pub(super) fn share(&mut self) {
        if let Cells::Own(cells) = &mut self.cells
            && !self.was_shared
        {
            self.cells = Cells::Common(Arc::new(std::mem::take(cells)));
            self.was_shared = true;
        }
    }

    /// Has the row in common with another screen that shows the same, if that [shares](Self::share) it.
    pub(super) fn share_with(&mut self, other: &Self, spare: &mut Spare) {
        if let Cells::Common(cells) = &other.cells
            && other.was_shared
        {
            debug_assert_eq!(self.cells(), other.cells());
            let old = std::mem::replace(&mut self.cells, Cells::Common(cells.clone()));
            self.was_shared = true;
            if let Cells::Own(cells) = old {
                spare.0 = Some(cells);
            }
        }
    }
}

impl Clone for Row {
    fn clone(&self) -> Self {
        match &self.cells {
            Cells::Own(cells) => Self {
                cells: Cells::Own(cells.clone()),
                was_shared: true,
            },
            Cells::Common(cells) => Self {
                cells: Cells::Common(cells.clone()),
                was_shared: self.was_shared,
            },
        }
    }

    /// Copies cells into the memory that is there.
    fn clone_from(&mut self, other: &Self) {
        match (&mut self.cells, &other.cells) {
            (Cells::Own(old), Cells::Own(cells)) if old.len() == cells.len() => {
                old.copy_from_slice(cells);
            }
            _ => *self = other.clone(),
        }
    }
}

/// The memory of a row that is not needed any more.
#[derive(Debug, Default)]
pub(super) struct Spare(Option<Box<[Cell]>>);

impl Spare {
    fn copy(&mut self, cells: &[Cell]) -> Box<[Cell]> {
        match self.0.take() {
            Some(mut spare) if spare.len() == cells.len() => {
                spare.copy_from_slice(cells);
                spare
            }
            _ => cells.into(),
        }
    }
}

/// A copy of a screen has its own.
impl Clone for Spare {
    fn clone(&self) -> Self {
        Self::default()
    }
}
