//! Integration tests against stored results of other programs.

mod ns3;
