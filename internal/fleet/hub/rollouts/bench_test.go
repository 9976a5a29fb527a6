package rollouts

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
)

// BenchmarkRollout measures all decisions and computations of a commit until its rollouts are complete, for contents
// that targets share and do not share. Each target reports before the next decision.
func BenchmarkRollout(b *testing.B) {
	const n = 1000
	for _, c := range []struct {
		name     string
		groups   int // of targets with the same content
		commits  int // which begin one after another, so that as many rollouts are open
		versions func(*many, int) assign.Versions
	}{{"one module of all targets", 1, 1, nil}, {"a module for each of 100 groups", 100, 1, nil},
		{"100 rollouts at the same time", 100, 100, nil}, {"a module for each target", n, 1, nil},
		{"a module for each target, with constraints", n, 1, constraints}} {
		b.Run(c.name, func(b *testing.B) {
			m := newMany(b, n, c.groups)
			m.commit(1)
			m.finish()
			number := 1
			before := cpuTime(b)
			b.ResetTimer()
			for range b.N {
				for i := range c.commits {
					number++
					var parts []string
					for g := i; g < c.groups; g += c.commits {
						parts = append(parts, group(g))
					}
					m.commit(number, parts...)
					if c.versions != nil {
						m.fleet.Versions = c.versions(m, number)
					}
					m.report(document.Applying, m.step()...)
				}
				if got := len(m.log.state.Open()); got != c.commits {
					b.Fatalf("%d rollouts are open", got)
				}
				m.reportAll()
				m.finish()
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// constraints lets the module of each group need a new version of a module of all targets, which has it.
func constraints(m *many, number int) assign.Versions {
	out := assign.Versions{}
	const shared = "modules/m00"
	for part, bundle := range m.fleet.Head.Bundles {
		v := assign.Versioned{Versions: map[string]string{part: fmt.Sprintf("1.0.%d", number)}}
		if part != shared {
			v.Requires = []assign.Requirement{{By: part, Module: shared, Version: ">= 1.0.1"}}
		}
		out[assign.VersionsKey{Module: part, Digest: bundle.Digest}] = v
	}
	return out
}
