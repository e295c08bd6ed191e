//! Integration tests of the reproduction.
mod ns3;
