/** Seconds; enough to see a millisecond and a minute. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

interface Series {
  readonly counts: number[];
  sum: number;
  count: number;
}

/** Counters and durations of requests, in memory; Prometheus keeps their history. */
export interface Meters {
  observe(request: { method: string; route: string; status: number; seconds: number }): void;
  /** Prometheus' text format. */
  write(gauges: readonly Gauge[]): string;
}

export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly values: readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];
}

export function createMeters(): Meters {
  const requests = new Map<string, number>();
  const durations = new Map<string, Series>();
  return {
    observe({ method, route, status, seconds }) {
      const labels = labelsOf({ method, route, status: String(status) });
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
      const key = labelsOf({ method, route });
      const series = durations.get(key) ?? { counts: BOUNDS.map(() => 0), sum: 0, count: 0 };
      durations.set(key, series);
      series.sum += seconds;
      series.count += 1;
      const bucket = BOUNDS.findIndex((bound) => seconds <= bound);
      if (bucket >= 0) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    },
    write(gauges) {
      const lines = [
        ...head("sandboxer_requests_total", "counter", "Requests answered."),
        ...[...requests].map(([labels, count]) => `sandboxer_requests_total{${labels}} ${count}`),
        ...head("sandboxer_request_seconds", "histogram", "Until an answer began."),
        ...[...durations].flatMap(([labels, series]) => histogram(labels, series)),
        ...gauges.flatMap(({ name, help, values }) => [
          ...head(name, "gauge", help),
          ...values.map(([labels, value]) => `${name}${braced(labelsOf(labels))} ${value}`),
        ]),
      ];
      return `${lines.join("\n")}\n`;
    },
  };
}

function histogram(labels: string, { counts, sum, count }: Series): string[] {
  const name = "sandboxer_request_seconds";
  let total = 0;
  const buckets = BOUNDS.map((bound, at) => {
    total += counts[at] ?? 0;
    return `${name}_bucket{${labels},le="${bound}"} ${total}`;
  });
  return [
    ...buckets,
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}

function head(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(
      ([name, value]) =>
        `${name}="${value.replace(/["\\\n]/g, (one) => (one === "\n" ? "\\n" : `\\${one}`))}"`,
    )
    .join(",");
}

const braced = (labels: string): string => (labels ? `{${labels}}` : "");
