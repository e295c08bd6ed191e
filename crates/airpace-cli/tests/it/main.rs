//! The program as its users meet it: outputs, complaints and exit codes.

mod airtime;
mod allocate;
mod keygen;
mod shared;
mod usage;
