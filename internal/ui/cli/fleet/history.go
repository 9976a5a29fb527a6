package fleet

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newFleetHistory(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	at := route.HistoryQuery{Days: 1}
	c := &cobra.Command{
		Use:   "history",
		Short: "Show numbers of the fleet and of a hub over time",
		Long: `Shows numbers of the last days, up to 30: targets, connections, errors, drift,
run times, and the load of the hub that answers. The line has the newest value
at its right end. Where the hub was down, it has a gap; in run times, also where
no run ended.`,
		Example: "  fettle fleet history\n  fettle fleet history --days 7 --json",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if at.Days > 30 {
				return cli.Misused(fmt.Errorf("cannot show %d days: give a number from 1 to 30", at.Days))
			}
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.History(), at, showHistory)
		},
	}
	cli.NumberVar(c.Flags(), &at.Days, "days", 1, 1, "the number of `DAYS`, from 1 to 30")
	w.Flag(c)
	return c
}

func showHistory(s *cli.Printer, h document.History) {
	var rows [][]string
	for _, each := range h.Series {
		now, least, most := numbersOf(h, each)
		rows = append(rows, []string{each.Text, now, least, most, sparkline(h, each)})
	}
	s.Style().Table(s.App.Stdout, []string{"NUMBER", "NOW", "LOWEST", "HIGHEST",
		"SINCE " + time.Unix(0, h.From).UTC().Format("2006-01-02 15:04 UTC")}, rows)
}

// numbersOf returns the newest, the lowest and the highest value of a series; "-" means that it is unknown.
func numbersOf(h document.History, s document.HistorySeries) (now, least, most string) {
	if len(s.Points) == 0 {
		return "-", "-", "-"
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range s.Points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	now = "-"
	if last := s.Points[len(s.Points)-1]; h.Until-last.At <= 2*h.Span {
		now = s.ValueText(last.Value)
	}
	return now, s.ValueText(low), s.ValueText(high)
}

// sparklineColumns is the number of characters of a sparkline.
const sparklineColumns = 40

// sparkline draws a series with block characters. A column without a value is a space.
func sparkline(h document.History, s document.HistorySeries) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	highest := make([]float64, sparklineColumns)
	for i := range highest {
		highest[i] = math.NaN()
	}
	most := 0.0
	for _, p := range s.Points {
		i := int((p.At - h.From) * sparklineColumns / max(1, h.Until-h.From))
		i = min(max(i, 0), sparklineColumns-1)
		if math.IsNaN(highest[i]) || p.Value > highest[i] {
			highest[i] = p.Value
		}
		most = max(most, p.Value)
	}
	out := make([]rune, sparklineColumns)
	for i, v := range highest {
		switch {
		case math.IsNaN(v):
			out[i] = ' '
		case most == 0:
			out[i] = blocks[0]
		default:
			out[i] = blocks[int(max(0, v)/most*float64(len(blocks)-1)+0.5)]
		}
	}
	return string(out)
}
