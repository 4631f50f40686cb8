/**
 * Lines of haproxy.cfg that mark what may be the question of a monitor: by HTTP, from the address
 * of a monitor, and on behalf of nobody else. Its question is answered without a key, and whatever
 * methods are offered; templates/gateway/calls.lua and the rules for keys decide on the rest. Both
 * are empty without a monitor.
 *
 * @param monitors addresses of the monitors
 */
export function monitorRules(monitors: readonly string[]) {
  if (monitors.length === 0) return { monitor_connection: '', monitor_request: '' };
  const isMonitor = `{ src ${monitors.join(' ')} }`;
  return {
    // Before anybody says by the PROXY protocol who the client is.
    monitor_connection: `    tcp-request connection set-var(sess.monitor) bool(true) if ${isMonitor}`,
    monitor_request: `    http-request set-var(txn.monitor) bool(true) if { var(sess.monitor) -m bool } ${isMonitor} !is_websocket`,
  };
}
