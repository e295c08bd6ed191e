//! Weights of the timestamp classifier, written by `airpace bench classifier --train`.

use super::{GapFeatures, WindowFeatures};

pub(super) const GAP: GapFeatures = [
    -8.3804, // constant
    0.2610,  // gap
    0.3814,  // gap against the valley of all gaps
    -2.1563, // share of the gaps that are shorter
    8.4766,  // clarity of the valley
    0.3438,  // gap against the valley, times clarity
    -0.0039, // gap against the one before
    0.3168,  // packets of the frame against the mean
    0.9177,  // gap against those between frames
    0.7624,  // gap against those within frames
    0.2796,  // gap below the shortest between frames
    -0.7555, // duration of the frame
    1.4667,  // same time
];

pub(super) const WINDOW: WindowFeatures = [
    0.0053,  // constant
    10.9515, // expected errors per frame
    -7.7078, // expected excess of frames
    -7.7454, // clarity of the valley
    -3.2856, // intervals of equal length
    41.2129, // those beyond chance
    -5.2451, // intervals of equal length per packet
    -2.0006, // variation of the intervals
    4.0381,  // variation of the packets
    -0.5478, // packets
    38.6088, // short gaps between frames
    7.2304,  // time within frames
];
