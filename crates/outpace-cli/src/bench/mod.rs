//! `outpace bench`: experiments (`experiment`, and all of them in `catalogue`), their measurement (`runner`) at
//! destinations (`destination`), rows of figures (`results`) and tables of them (`view`).

/// Methods of a type that give the same value with another one in a field.
macro_rules! variants {
    ($type:ident: $($(#[$doc:meta])* $name:ident($($argument:ident: $of:ty)?) $field:ident = $value:expr;)*) => {
        impl $type {
            $($(#[$doc])*
            pub(crate) const fn $name(self $(, $argument: $of)?) -> Self {
                Self { $field: $value, ..self }
            })*
        }
    };
}

pub(crate) mod catalogue;
pub(crate) mod destination;
pub(crate) mod experiment;
pub(crate) mod results;
pub(crate) mod runner;
pub(crate) mod toolchain;
pub(crate) mod view;
