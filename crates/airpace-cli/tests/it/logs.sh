# A proxy and three agents that it does not answer, each for a reason of its own. $1: the program, $2: a
# folder with their configurations. Exit code 77: the proxy could not be started.
airpace=$1
cd "$2" || exit 1
ip link set lo up || exit 77

wait_for() { # file, text
    until grep -q "$2" "$1"; do sleep 0.1; done
}
"$airpace" --log-format json proxy --config proxy.toml 2> proxy.log & proxy=$!
until grep -q proxy-started proxy.log; do
    kill -0 $proxy 2> /dev/null || exit 77
    sleep 0.1
done
"$airpace" agent --config stranger.toml 2> stranger.log & stranger=$!
"$airpace" agent --config wrong-key.toml 2> wrong-key.log &
"$airpace" agent --config wrong-port.toml 2> wrong-port.log &
wait_for proxy.log handshake-unknown-key
wait_for proxy.log handshake-for-other-key
for agent in stranger wrong-key wrong-port; do
    wait_for $agent.log handshake-unanswered
done

# What logrotate does.
mv proxy.jsonl moved-proxy.jsonl
mv stranger.jsonl moved-stranger.jsonl
kill -HUP $proxy $stranger
until [ -e proxy.jsonl ] && [ -e stranger.jsonl ]; do sleep 0.1; done
wait_for proxy.log telemetry-reopened
wait_for stranger.log telemetry-reopened
kill $proxy $stranger
wait $proxy && wait $stranger
