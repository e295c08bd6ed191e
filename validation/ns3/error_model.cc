// Prints the signal-to-noise ratio in dB at which ns-3's default error model (TableBasedErrorRateModel with its default
// attributes) loses given shares of the MPDUs, for every rate of HT, VHT, HE (one stream), OFDM and DSSS.
// Its output is crates/airpace-core/tests/data/ns3_error_model.csv. Build and run:
//
//   P=$(echo /path/to/venv/lib/python3*/site-packages/ns3)
//   g++ -std=c++20 -O1 -I$P/include error_model.cc -L$P/lib64 -Wl,-rpath,$P/lib64 -lns3.44-wifi -lns3.44-network -lns3.44-core -o error_model
//   ./error_model > ns3_error_model.csv

#include "ns3/boolean.h"
#include "ns3/dsss-phy.h"
#include "ns3/erp-ofdm-phy.h"
#include "ns3/he-phy.h"
#include "ns3/ht-phy.h"
#include "ns3/ofdm-phy.h"
#include "ns3/table-based-error-rate-model.h"
#include "ns3/vht-phy.h"
#include "ns3/wifi-tx-vector.h"

#include <cmath>
#include <cstdio>
#include <vector>

using namespace ns3;

namespace
{

double
Loss(const ErrorRateModel& model, const WifiTxVector& vector, double snrDb, uint32_t bytes)
{
    return 1.0 - model.GetChunkSuccessRate(vector.GetMode(), vector, std::pow(10.0, snrDb / 10.0), 8ULL * bytes);
}

// The model's loss does not rise with the ratio, so halving an interval finds the crossing.
double
RatioAt(const ErrorRateModel& model, const WifiTxVector& vector, double loss, uint32_t bytes)
{
    double low = -30.0;
    double high = 60.0;
    while (high - low > 1e-4)
    {
        const double middle = (low + high) / 2;
        (Loss(model, vector, middle, bytes) > loss ? low : high) = middle;
    }
    return high;
}

void
Print(const ErrorRateModel& model, const char* standard, uint32_t mhz, uint32_t mcs, WifiMode mode, bool ldpc)
{
    WifiTxVector vector;
    vector.SetMode(mode);
    vector.SetChannelWidth(MHz_u{static_cast<double>(mhz)});
    vector.SetNss(1);
    vector.SetGuardInterval(NanoSeconds(800));
    vector.SetLdpc(ldpc);
    for (const uint32_t bytes : {14U, 32U, 100U, 399U, 1458U, 1536U, 3000U})
    {
        std::printf("%s,%u,%u,%s,%u", standard, mhz, mcs, ldpc ? "ldpc" : "bcc", bytes);
        for (const double loss : {0.5, 0.1, 0.01})
        {
            std::printf(",%.3f", RatioAt(model, vector, loss, bytes));
        }
        // IdealWifiManager's threshold of the rate at its default bit error rate.
        std::printf(",%.3f\n", 10.0 * std::log10(model.CalculateSnr(vector, 1e-6)));
    }
}

} // namespace

int
main()
{
    const auto model = CreateObject<TableBasedErrorRateModel>();
    std::printf("standard,width_mhz,mcs,coding,bytes,snr_db_per_50,snr_db_per_10,snr_db_per_1,ideal_snr_db\n");
    for (const bool ldpc : {false, true})
    {
        for (const uint32_t mhz : {20U, 40U, 80U})
        {
            for (uint8_t mcs = 0; mcs <= 7 && mhz <= 40; ++mcs)
            {
                Print(*model, "ht", mhz, mcs, HtPhy::GetHtMcs(mcs), ldpc);
            }
            for (uint8_t mcs = 0; mcs <= 9; ++mcs)
            {
                Print(*model, "vht", mhz, mcs, VhtPhy::GetVhtMcs(mcs), ldpc);
            }
            for (uint8_t mcs = 0; mcs <= 11; ++mcs)
            {
                Print(*model, "he", mhz, mcs, HePhy::GetHeMcs(mcs), ldpc);
            }
        }
    }
    const uint64_t ofdm[] = {6, 9, 12, 18, 24, 36, 48, 54};
    for (uint32_t index = 0; index < 8; ++index)
    {
        Print(*model, "ofdm", 20, index, OfdmPhy::GetOfdmRate(ofdm[index] * 1'000'000, MHz_u{20}), false);
    }
    const uint64_t dsss[] = {1'000'000, 2'000'000, 5'500'000, 11'000'000};
    for (uint32_t index = 0; index < 4; ++index)
    {
        Print(*model, "dsss", 22, index, DsssPhy::GetDsssRate(dsss[index]), false);
    }
}
