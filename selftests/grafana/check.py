#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tests of the dashboard; see check.sh, which runs this.

usage: check.py --prometheus PROGRAM --promtool PROGRAM DIRECTORY"""
import argparse
import contextlib
import copy
import http.server
import json
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / 'selftests/common'))
from tap import Tap  # pylint: disable=wrong-import-position

DASHBOARD = TOP / 'packaging/grafana/mrc.json'
COUNTERS = TOP / 'selftests/net/counters.list'
GOLDEN = [TOP / 'selftests/mrcctl/golden/metrics.prom', TOP / 'selftests/mrcmap/golden/metrics.prom']
HOSTS = ('alpha', 'beta')
PATIENCE = 120          # limit of any wait, in seconds
# Several scrapes; Grafana takes four intervals, and the server must not be slow on purpose.
RATE_INTERVAL = '10s'
LABEL_VALUES = re.compile(r'label_values\((.*), *(\w+)\)')


class Exporter(http.server.ThreadingHTTPServer):
    """Answers as a node_exporter that reads the files of mrcctl and of mrcmap. The golden files
    are those of a made-up device with few counters, so the others are added. Counters grow with
    each scrape. One host's device could not be read whole."""

    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.scrapes, self.lock = 0, threading.Lock()
        self.lines = ''.join(p.read_text(encoding='utf-8') for p in GOLDEN).splitlines()
        have = {line.split('{')[0] for line in self.lines}
        for name in COUNTERS.read_text(encoding='utf-8').split('\n'):
            family = 'mrc_port_%s_total' % name
            if name and name[0] != '#' and family not in have:
                self.lines += ['# HELP %s Counter of the port.' % family,
                               '# TYPE %s counter' % family]
                self.lines += ['%s{device="mrc0",port="%d"} 7' % (family, port) for port in (1, 2)]

    def metrics(self, host):
        with self.lock:
            self.scrapes += 1
            more = self.scrapes
        out = []
        for line in self.lines:
            m = re.fullmatch(r'(\w+_total)(\{.*\}) (\d+)', line)
            if m:
                line = '%s%s %d' % (m[1], m[2], int(m[3]) + 100 * more)
            if host == HOSTS[1] and line.startswith('mrc_collector_success'):
                line = line[:-1] + '0'
            # One collector maps a fabric.
            if host == HOSTS[0] or 'mrcmap_' not in line:
                out.append(line)
        return '\n'.join(out) + '\n'


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):    # pylint: disable=invalid-name
        text = self.server.metrics(self.path.strip('/')).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain; version=0.0.4')
        self.send_header('Content-Length', str(len(text)))
        # The server may end in the middle of its last scrape.
        with contextlib.suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(text)

    def log_message(self, *_args):
        pass


class Prometheus:
    """A server with its data in the directory, which scrapes the exporter every second."""

    def __init__(self, program, folder, exporter):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            self.port = s.getsockname()[1]
        config = {'global': {'scrape_interval': '1s', 'scrape_timeout': '1s'}, 'scrape_configs': [
            {'job_name': 'node', 'metrics_path': '/' + host, 'static_configs': [
                {'targets': ['127.0.0.1:%d' % exporter.server_address[1]],
                 'labels': {'instance': host}}]} for host in HOSTS]}
        # Two jobs must not have the same name.
        for job, host in zip(config['scrape_configs'], HOSTS):
            job['job_name'] += '-' + host
        # JSON is YAML.
        (folder / 'prometheus.yml').write_text(json.dumps(config), encoding='utf-8')
        with open(folder / 'log', 'wb') as log:
            self.process = subprocess.Popen(    # pylint: disable=consider-using-with
                [program, '--config.file=%s' % (folder / 'prometheus.yml'),
                 '--storage.tsdb.path=%s' % (folder / 'data'),
                 '--web.listen-address=127.0.0.1:%d' % self.port], stdout=log, stderr=log)

    def ask(self, path, **args):
        """The data of an answer, or a string that says what is wrong."""
        url = 'http://127.0.0.1:%d/api/v1/%s?%s' % (self.port, path, urllib.parse.urlencode(
            args, doseq=True))
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)['data']
        except urllib.error.HTTPError as e:
            return json.load(e)['error']
        except (urllib.error.URLError, OSError) as e:
            return str(e)

    def query(self, expr):
        data = self.ask('query', query=expr)
        return data if isinstance(data, str) else data['result']

    def end(self):
        self.process.terminate()
        self.process.wait()


def wait_for(server, what):
    """Until what() is true; a server that has ended is not waited for."""
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end or server.process.poll() is not None:
            return False
        time.sleep(0.2)
    return True


def expand(text, choice):
    """As Grafana does: a variable with one value, or with all."""
    for name, value in choice.items():
        text = text.replace('$' + name, value)
    return text.replace('$__rate_interval', RATE_INTERVAL)


def judge_variables(server, board, choice):
    """What is wrong with the variables; their values."""
    problems, found = [], {}
    for variable in board['templating']['list']:
        if variable['type'] != 'query':
            continue
        m = LABEL_VALUES.fullmatch(variable['query'])
        if not m:
            problems.append('%s: no label_values(): %s' % (variable['name'], variable['query']))
            continue
        values = server.ask('label/%s/values' % m[2], **{'match[]': expand(m[1], choice)})
        if isinstance(values, str) or not values:
            problems.append('%s: %s: %s' % (variable['name'], variable['query'],
                                            values or 'has no value'))
        else:
            found[variable['name']] = values
    return problems, found


def judge_panels(server, board, choice):
    problems = []
    for panel in board['panels']:
        for target in panel['targets']:
            where = '"%s": %s' % (panel['title'], target['expr'])
            series = server.query(expand(target['expr'], choice))
            if isinstance(series, str):
                problems.append('%s: %s' % (where, series))
                continue
            if not series:
                problems.append('%s: no series' % where)
            for one in series:
                if one['value'][1] in ('NaN', '+Inf', '-Inf'):
                    problems.append('%s: %s is %s' % (where, one['metric'], one['value'][1]))
                for label in re.findall(r'\{\{ *(\w+) *\}\}', target['legendFormat']):
                    if label not in one['metric']:
                        problems.append('%s: the legend wants %s, there is %s' % (
                            where, label, sorted(one['metric'])))
            # Lines that look the same cannot be told apart.
            names = [expand_legend(target['legendFormat'], one['metric']) for one in series]
            problems += ['%s: two lines are called "%s"' % (where, n)
                         for n in sorted({n for n in names if names.count(n) > 1})]
    return problems


def expand_legend(text, labels):
    return re.sub(r'\{\{ *(\w+) *\}\}', lambda m: labels.get(m[1], ''), text)


def judge(server, board, choice):
    return judge_variables(server, board, choice)[0] + judge_panels(server, board, choice)


def test_metrics(tap, promtool):
    for path in GOLDEN:
        done = subprocess.run([promtool, 'check', 'metrics'], input=path.read_bytes(),
                              capture_output=True, check=False)
        lines = (done.stdout + done.stderr).decode(errors='replace').splitlines()
        problems = lines if lines or done.returncode else []
        if done.returncode and not problems:
            problems = ['status %d' % done.returncode]
        tap.result('promtool: %s' % path.relative_to(TOP), problems)
    done = subprocess.run([promtool, 'check', 'metrics'], capture_output=True, check=False,
                          input=b'# TYPE x counter\nx{a="1"} 1\n')
    tap.result('promtool finds a counter with a wrong name and no help',
               [] if done.returncode else ['it does not'])


# A change of the dashboard's text, and what must be said then.
WRONG = [
    ('a metric that there is not', 'mrc_qp_srtt_min_seconds', 'mrc_qp_srtt_least_seconds',
     'no series'),
    ('a metric of mrcmap that there is not', 'mrcmap_agent_up', 'mrcmap_agents_up', 'no series'),
    ('a label that there is not', 'state!=', 'estate=', 'no series'),
    ('no PromQL', 'sum by (instance, state) (', 'sum by (instance, state (', 'parse error'),
    ('a legend of another label', '{{fabric}} {{kind}}', '{{fabric}} {{kinds}}', 'legend wants'),
    ('a legend that is the same for all', '{{instance}} {{device}}/{{port}}', '{{instance}}',
     'two lines'),
    ('a variable of another metric', 'label_values(mrcmap_findings,', 'label_values(mrcmap_faults,',
     'has no value'),
    ('a variable of another label', 'label_values(mrc_port_up, instance)',
     'label_values(mrc_port_up, host)', 'has no value'),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--prometheus', required=True)
    parser.add_argument('--promtool', required=True)
    parser.add_argument('folder', type=pathlib.Path)
    args = parser.parse_args()
    tap = Tap()
    test_metrics(tap, args.promtool)
    text = DASHBOARD.read_text(encoding='utf-8')
    board = json.loads(text)
    exporter = Exporter()
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    server = Prometheus(args.prometheus, args.folder, exporter)
    try:
        everything = {'instance': '.*', 'device': '.*', 'fabric': '.*'}
        rate = 'rate(mrc_port_tx_data_bytes_total[%s]) > 0' % RATE_INTERVAL

        def scraped():
            series = server.query(rate)
            # Two ports of each host.
            return isinstance(series, list) and len(series) == 2 * len(HOSTS)

        there = wait_for(server, scraped)
        tap.result('the server scrapes both hosts', [] if there else (
            args.folder / 'log').read_text(errors='replace').splitlines()[-20:] or ['it does not'])
        if not there:
            return tap.end()
        problems, found = judge_variables(server, board, everything)
        wanted = {'instance': list(HOSTS), 'device': ['mrc0'], 'fabric': ['test']}
        if not problems and found != wanted:
            problems = ['%s, should be %s' % (found, wanted)]
        tap.result('variables have the values that there are', problems)
        panels = sum(len(p['targets']) for p in board['panels'])
        tap.result('each of %d expressions has series, with all hosts, devices and fabrics' % panels,
                   judge_panels(server, board, everything))
        # On the host that maps a fabric no part is missing.
        part = copy.deepcopy(board)
        part['panels'] = [p for p in board['panels'] if p['id'] != 14]
        tap.result('and with one of each', judge(server, part, {
            'instance': HOSTS[0], 'device': 'mrc0', 'fabric': 'test'}))
        for what, old, new, said in WRONG:
            assert old in text, old
            found = judge(server, json.loads(text.replace(old, new)), everything)
            tap.result('%s is noticed' % what,
                       [] if any(said in line for line in found) else
                       ['"%s" is not in: %s' % (said, found)])
    finally:
        server.end()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
