use super::*;
use proptest::prelude::*;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} for {expected}"
    );
}

#[test]
fn defaults_have_the_rating_of_the_recommendation() {
    let rating = Call::default().rating();
    // No and Is are those of flent, which was checked against ITU-T's own calculator; R is that of
    // another public program.
    near(Call::default().noise_dbm0p(), -61.179_214_386, 1e-8);
    near(rating.simultaneous, 1.413_568_08, 1e-6);
    near(rating.r(), 93.206_208, 1e-6);
    near(mean_opinion_score(rating.r()), 4.41, 0.005);
}

#[test]
fn scores_are_those_of_annex_b() {
    // Table B.1: least R of each class of satisfaction.
    for (r, score) in [
        (90.0, 4.34),
        (80.0, 4.03),
        (70.0, 3.60),
        (60.0, 3.10),
        (50.0, 2.58),
    ] {
        near(mean_opinion_score(r), score, 0.007);
    }
    assert_eq!(
        [-5.0, 0.0, 3.0, 100.0, 130.0].map(mean_opinion_score),
        [1.0, 1.0, 1.0, 4.5, 4.5]
    );
}

#[test]
fn delay_impairs_as_in_the_older_table_of_g_113() {
    // As usually quoted from G.113 (02/96), whose table the formula replaced: impairment by one-way
    // delay without echo, within 2.
    let table = [
        (150.0, 0.0),
        (200.0, 3.0),
        (250.0, 10.0),
        (300.0, 15.0),
        (400.0, 25.0),
        (500.0, 30.0),
        (600.0, 35.0),
        (800.0, 40.0),
    ];
    for (delay_ms, impairment) in table {
        near(
            Call {
                delay_ms,
                ..Call::default()
            }
            .rating()
            .delay,
            impairment,
            2.0,
        );
    }
    assert_eq!(
        Call {
            delay_ms: 100.0,
            ..Call::default()
        }
        .rating()
        .delay,
        0.0
    );
}

#[test]
fn the_usual_piecewise_linear_fit_approximates_the_delay_impairment() {
    // Cole and Rosenbluth (2001): Id = 0.024 d + 0.11 (d - 177.3) beyond 177.3 ms, a fit up to 400
    // ms.
    for delay_ms in [25.0, 50.0, 100.0, 150.0, 200.0, 300.0, 400.0] {
        let rating = Call::default().with_delay_ms(delay_ms).rating();
        let line = 0.024 * delay_ms + 0.11 * f64::max(0.0, delay_ms - 177.3);
        near(
            rating.talker_echo + rating.listener_echo + rating.delay,
            line,
            3.0,
        );
    }
}

#[test]
fn losses_impair_according_to_the_robustness_of_the_codec() {
    let impairment = |codec, loss, bursts| {
        Call::default()
            .with_codec(codec)
            .with_loss(loss, bursts)
            .rating()
            .equipment
    };
    // 95 · 2 / (2 + Bpl).
    near(impairment(Codec::G711, 0.02, 1.0), 190.0 / 6.3, 1e-9);
    near(
        impairment(Codec::G711_CONCEALED, 0.02, 1.0),
        190.0 / 27.1,
        1e-9,
    );
    near(
        impairment(Codec::G711_CONCEALED, 0.02, 2.0),
        190.0 / 26.1,
        1e-9,
    );
    assert_eq!(impairment(Codec::G711, 0.0, 5.0), 0.0);
    // Bpl is the loss in per cent at which half of 95 is lost.
    near(impairment(Codec::G711, 0.043, 1.0), 47.5, 1e-9);
}

#[test]
fn published_scores_of_004_lie_below_its_ceiling() {
    let score = |delay_ms: f64| {
        Call::default()
            .with_codec(Codec::LEAST_ROBUST)
            .with_delay_ms(delay_ms)
            .mean_opinion_score()
    };
    // Table 2: 4.41 at 5 ms and 4.38 at 50 ms with the voice queue and no standing queue.
    near(score(5.0), 4.41, 0.005);
    near(score(50.0), 4.38, 0.005);
    // A standing queue that loses packets: 1.00.
    assert!(
        Call::default()
            .with_codec(Codec::LEAST_ROBUST)
            .with_delay_ms(600.0)
            .with_loss(0.1, 1.0)
            .mean_opinion_score()
            <= 1.0
    );
}

#[test]
fn flent_scores_as_g107_up_to_100_ms_and_far_lower_beyond() {
    let scores = |delay_ms| {
        let call = Call::default().with_delay_ms(delay_ms);
        (call.mean_opinion_score(), call.flent_score())
    };
    let (standard, flent) = scores(100.0);
    assert!(standard == flent && flent > 4.3, "{standard} and {flent}");
    // 25 (1 - 3/6 + 2) at once.
    let rated = |score: f64, least: f64| (least..least + 0.05).contains(&score);
    let (standard, flent) = scores(150.0);
    assert!(
        rated(standard, 4.30) && rated(flent, 1.46),
        "{standard} and {flent}"
    );
    let (standard, flent) = scores(300.0);
    assert!(
        rated(standard, 3.70) && rated(flent, 1.02),
        "{standard} and {flent}"
    );
}

#[test]
fn values_that_are_not_numbers_cause_no_panic() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300] {
        let score = Call::default()
            .with_delay_ms(odd)
            .with_loss(odd, odd)
            .mean_opinion_score();
        assert!(
            score.is_nan() || (1.0..=4.5).contains(&score),
            "{score} for {odd}"
        );
    }
}

proptest! {
    #[test]
    fn scores_fall_with_delay_loss_and_bursts(
        delay in 0.0..2_000.0f64, more in 0.0..500.0f64, loss in 0.0..0.9f64, worse in 0.0..0.1f64, bursts in 1.0..4.0f64,
    ) {
        for codec in [Codec::G711, Codec::G711_CONCEALED, Codec::LEAST_ROBUST] {
            let score = |delay, loss, bursts| Call::default().with_codec(codec).with_delay_ms(delay).with_loss(loss, bursts).mean_opinion_score();
            let base = score(delay, loss, bursts);
            prop_assert!((1.0..=4.5).contains(&base));
            // The echo changes from sidetone to echo at 1 ms by less than a hundredth.
            prop_assert!(score(delay + more, loss, bursts) <= base + 0.01);
            prop_assert!(score(delay, loss + worse, bursts) <= base + 1e-12);
            prop_assert!(score(delay, loss, bursts + more / 100.0) <= base + 1e-12);
        }
    }
}
