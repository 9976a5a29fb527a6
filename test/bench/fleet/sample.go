package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample finds a metric without labels in what Prometheus reads.
func sample(from io.Reader, name string) (float64, error) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if value, ok := strings.CutPrefix(in.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("cannot find the metric %s", name)
}

// median is the middle one, the lower of two.
func median[T cmp.Ordered](values []T) T {
	values = slices.Sorted(slices.Values(values))
	return values[(len(values)-1)/2]
}

// quantile returns the value that is not below the given part of the sorted values.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

// busiest is how many moments at most lie within a second.
func busiest(moments []time.Duration) int {
	moments = slices.Sorted(slices.Values(moments))
	most, first := 0, 0
	for i, at := range moments {
		for moments[first] <= at-time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
