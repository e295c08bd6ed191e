//! Experiments on real packets: bulk TCP, ping, the demo and the datapath benchmark.
