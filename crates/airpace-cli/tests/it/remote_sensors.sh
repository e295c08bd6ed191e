# Runs downloads through the in-line box behind the emulated access point. $1: the program, $2: a
# folder for files, $3: radio, agents, nothing or quic, which is a download over QUIC,
# $4: seconds. Exit code 77: the box could not be started.
airpace=$1 folder=$2 sensor=$3 seconds=$4
set -- $AIRPACE_STATION_IPS; ips=$*
set -- $AIRPACE_STATION_MACS; macs=$*

in_station() { # index, then a command
    eval "namespace=\$AIRPACE_NS_STA$1"; shift
    nsenter --net="$namespace" "$@"
}
# Waits until the receiver of a station listens: on a busy machine that takes more than a second.
wait_for_receiver() { # index
    tries=100
    # Port 5001 in hexadecimal digits, and the state LISTEN.
    until in_station "$1" grep -q ':1389 [0-9A-F:]* 0A ' /proc/net/tcp; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo "station $1 does not listen" >&2; exit 3; }
        sleep 0.1
    done
}
key() { "$airpace" keygen --out "$1" | grep -o '[A-Za-z0-9+/]\{43\}=' | head -n 1; }

cat > "$folder/edge.toml" <<END
wan = "$AIRPACE_LAN_PORT"
bridge = "br0"
realtime = false
telemetry = "$folder/edge.jsonl"
telemetry_detail = "slots"
[[ap]]
ports = ["$AIRPACE_AP_PORT"]
END
if [ "$sensor" = radio ]; then
    echo 'radio = "air0"' >> "$folder/edge.toml"
elif [ "$sensor" = agents ]; then
    # The box has an address on the bridge, where agents reach it.
    nsenter --net="$AIRPACE_NS_BOX" ip address add 10.77.0.2/24 dev br0
    box=$(key "$folder/box.key")
    printf '[agents]\nlisten = "10.77.0.2:51900"\nprivate_key_file = "%s"\n' "$folder/box.key" >> "$folder/edge.toml"
    index=0
    for mac in $macs; do
        public=$(key "$folder/agent$index.key")
        printf '[[station]]\nmac = "%s"\npublic_key = "%s"\n' "$mac" "$public" >> "$folder/edge.toml"
        cat > "$folder/agent$index.toml" <<END
mode = "sensor"
proxy = "10.77.0.2:51900"
proxy_public_key = "$box"
private_key_file = "$folder/agent$index.key"
monitor = "mon0"
realtime = false
END
        index=$((index + 1))
    done
fi

nsenter --net="$AIRPACE_NS_BOX" "$airpace" edge --config "$folder/edge.toml" > "$folder/edge.log" 2>&1 &
edge=$!
sleep 1
kill -0 $edge 2>/dev/null || { cat "$folder/edge.log"; exit 77; }
index=0 receivers=
for ip in $ips; do
    [ "$sensor" != agents ] || in_station $index "$airpace" agent --config "$folder/agent$index.toml" > "$folder/agent$index.log" 2>&1 &
    if [ "$sensor" != quic ]; then
        eval "namespace=\$AIRPACE_NS_STA$index"
        nsenter --net="$namespace" "$airpace" tool receive "$ip:5001" > "$folder/received$index.json" 2>/dev/null &
        receivers="$receivers $!"
    fi
    in_station $index "$airpace" tool echo "$ip:7" >/dev/null 2>&1 &
    index=$((index + 1))
done
sleep 1
if [ "$sensor" = quic ]; then
    python3 "$folder/quic.py" server 0.0.0.0 "$seconds" & server=$!
    sleep 1
    "$airpace" tool ping "${ips%% *}:7" --for "$seconds s" > "$folder/ping0.json" 2>/dev/null & ping=$!
    in_station 0 python3 "$folder/quic.py" client "$AIRPACE_SERVER" "$seconds" > "$folder/received0.json"
    wait $server $ping
    kill -TERM $edge
    wait $edge
    exit 0
fi
index=0
for ip in $ips; do
    wait_for_receiver $index
    index=$((index + 1))
done
index=0 senders=
for ip in $ips; do
    "$airpace" tool send "$ip:5001" --congestion cubic --for "$seconds s" >/dev/null 2>&1 & senders="$senders $!"
    "$airpace" tool ping "$ip:7" --for "$seconds s" > "$folder/ping$index.json" 2>/dev/null & senders="$senders $!"
    index=$((index + 1))
done
wait $senders
# They print what they have received when they are told to end.
kill -TERM $receivers
wait $receivers
kill -TERM $edge
wait $edge
