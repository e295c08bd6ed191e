//! The program as its users meet it: outputs, complaints and exit codes.

mod airtime;
mod shared;
mod usage;
