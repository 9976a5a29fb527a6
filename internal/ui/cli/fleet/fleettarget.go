package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

// targetCommands are the commands of fettle target that call a hub.
func targetCommands(s *cli.Session) []*cobra.Command {
	return []*cobra.Command{
		newTargetList(s), newTargetShow(s), newTargetHistory(s), newTargetEnrol(s), newTargetApprove(s), newTargetLabel(s),
		newTargetPin(s), newTargetUnpin(s),
		newTargetFreeze(s), newTargetUnfreeze(s), newTargetSuspect(s), newTargetTrust(s), newTargetRetire(s),
		newTargetRevoke(s),
	}
}

func newTargetList(s *cli.Session) *cobra.Command {
	var q route.TargetQuery
	var w hubclient.Watching
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "list",
		Short: "List the targets of the fleet",
		Long: `Lists the targets with their states. If several states apply to a target, the
list shows the worst state. The states, from worst to best:

  cloned         several hosts have the identity of the target.
  failed         a run or a module failed.
  unresponsive   no hub received a message from the agent for too long.
  drifted        the host differs from the applied state.
  unknown        the agent has not sent a report yet.
  frozen         a freeze prevents changes.
  deferred       a module must not be applied before its scheduled time.
  applying       a run is in progress.
  blocked        a module waits for another module or a value of another
                 target.
  unassigned     the hub has not created the first assignment yet.
  pending        a part of the assignment is not applied yet.
  ready          the whole assignment is applied, and its checks pass.

The state not-in-fleet means that the target is not active, because it was
retired or revoked, for example.`,
		Example: "  fettle target list\n  fettle target list -t 'label:env=prod' --sort state\n  fettle target list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			words, err := hubclient.SelectedOnHub(s)
			if err != nil {
				return err
			}
			q.Select = words
			var alarms document.AlarmPage
			return hubclient.Showing(c.Context(), s.Printer, w, func(hub *client.Client) (document.TargetPage, error) {
				p, err := client.GetAt(c.Context(), hub, route.Targets(), q)
				if err == nil && !s.JSON {
					alarms, err = client.Get(c.Context(), hub, route.Alarms())
				}
				return p, err
			}, func(s *cli.Printer, p document.TargetPage) { showTargets(s, p, alarms.Alarms) })
		},
	})
	c.Flags().StringVar(&q.Sort, "sort", "name",
		"order by this `FIELD`: name, state, contact, drift, behind or changed; - before the field reverses the order")
	c.Flags().BoolVar(&q.All, "all", false, "also show retired and revoked targets")
	cli.LimitOrAllFlag(c, &q.Limit, 0, "targets")
	w.Flag(c)
	return c
}

func showTargets(s *cli.Printer, p document.TargetPage, alarms []document.Alarm) {
	rows, kept, refused := [][]string{}, map[string]string{}, map[string]string{}
	for _, a := range alarms {
		for _, name := range a.Targets {
			if a.Kind == string(assign.Incompatible) {
				refused[name] = a.Text
			}
			kept[name] = cmp.Or(kept[name], a.Text)
		}
	}
	if len(p.Targets) == 0 {
		s.Printf("No target of the fleet matches. Enrol hosts: fettle token create\n")
		return
	}
	for _, t := range p.Targets {
		rows = append(rows, []string{t.Name, string(t.Standing), string(t.State), hubclient.Applied(t.Modules, t.Behind),
			strconv.Itoa(t.Drift), contact(s, t), fewer(labelText(t.Labels), 40),
			cmp.Or(refused[t.Name], t.Error, suspectText(t.Suspect), t.Frozen, t.Waits, kept[t.Name], pinText(t.Pin))})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "STANDING", "STATE", "MODULES", "DRIFT", "CONTACT", "LABELS",
		"REASON"}, rows)
	if left := p.Total - len(p.Targets); left > 0 {
		s.Printf("%d more; see them with --limit\n", left)
	}
}

func contact(s *cli.Printer, t document.Target) string {
	if t.Connected {
		return "now"
	}
	return hubclient.AgoText(s, t.Contact)
}

func labelText(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, strings.TrimSuffix(k+"="+labels[k], "="))
	}
	return strings.Join(out, ",")
}

// fewer cuts text for a column.
func fewer(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func pinText(p *fleet.Pin) string {
	if p == nil {
		return ""
	}
	return cli.JoinWords("pinned to", p.Ref, p.Module)
}

func suspectText(p *fleet.Suspicion) string {
	if p == nil {
		return ""
	}
	return cli.JoinWords("suspect:", p.Reason)
}

func suspectOf(s *cli.Printer, p *fleet.Suspicion) string {
	if p == nil {
		return ""
	}
	return cli.JoinWords(p.Reason, "by", p.By) + hubclient.Parted(", ", s.Moment(p.Since*1e9))
}

// copiesText lists the hosts that have the identity of a target, one in each line.
func copiesText(s *cli.Printer, p *fleet.Suspicion) string {
	if p == nil {
		return ""
	}
	var lines []string
	for _, c := range p.Copies {
		lines = append(lines, cli.JoinWords(cmp.Or(c.Host, "unnamed")+",", "boot", cmp.Or(c.Boot, "unknown")+",",
			"machine_id",
			cmp.Or(c.Machine, "unknown"))+hubclient.Parted(", claimed ", s.Moment(c.Seen*1e9)))
	}
	return strings.Join(lines, "\n")
}

func newTargetShow(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "show TARGET",
		Short:   "Show a target: its assignment, its applied modules, and waits",
		Example: "  fettle target show web1\n  fettle target show web1 --json",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Target(), route.TargetName{Target: a[0]}, showTarget)
		},
	}
	w.Flag(c)
	return c
}

func showTarget(s *cli.Printer, d document.TargetDetail) {
	t := d.Target
	top := ""
	if d.Root != nil {
		top = hubclient.RevisionText(d.Root)
	}
	pin := pinText(t.Pin)
	if t.Pin != nil && t.Pin.Until > 0 {
		pin += ", until " + s.Moment(t.Pin.Until*1e9)
	}
	s.Style().Pairs(s.App.Stdout, []render.Pair{
		{Name: "target", Value: t.Name},
		{Name: "identity", Value: string(t.ID)},
		{Name: "standing", Value: string(t.Standing)},
		{Name: "changed by", Value: d.By},
		{Name: "state", Value: string(t.State)},
		{Name: "error", Value: t.Error},
		{Name: "suspect", Value: suspectOf(s, t.Suspect)},
		{Name: "hosts", Value: copiesText(s, t.Suspect)},
		{Name: "frozen", Value: t.Frozen},
		{Name: "pin", Value: pin},
		{Name: "labels", Value: labelText(t.Labels)},
		{Name: "groups", Value: strings.Join(d.Serves["groups"], ", ")},
		{Name: "roles", Value: strings.Join(d.Serves["roles"], ", ")},
		{Name: "contact", Value: contact(s, t)},
		{Name: "clock", Value: hubclient.ClockText(time.Duration(d.Ahead))},
		{Name: "assigned", Value: orderText(t.Assigned) + hubclient.Parted(", ", s.Moment(d.Issued))},
		{Name: "accepted", Value: orderText(t.Accepted)},
		{Name: "root", Value: top},
		{Name: "run", Value: strconv.Itoa(t.Run) + hubclient.Parted(", changed ", s.Moment(t.Changed))},
		{Name: "drift", Value: cli.Addresses(t.Drift)},
		{Name: "enrolled", Value: s.Moment(d.Enrolled)},
		{Name: "agent", Value: t.Version},
		{Name: "facts", Value: strings.ReplaceAll(labelText(d.Facts), ",", "\n")},
	})
	if len(d.Modules) == 0 {
		return
	}
	s.Printf("\n")
	rows := [][]string{}
	for _, m := range d.Modules {
		assigned := "-"
		if m.Assigned != nil {
			assigned = hubclient.Short(m.Assigned.Commit)
		}
		rows = append(rows, []string{cmp.Or(m.Module, "(top)"), cmp.Or(string(m.State), "unknown"), assigned,
			cmp.Or(hubclient.Short(m.Applied), "-"), hubclient.AgoText(s, m.Since),
			cmp.Or(m.Error, m.Waits, needsOnHub(m.Needs))})
	}
	s.Style().Table(s.App.Stdout, []string{"MODULE", "STATE", "ASSIGNED", "APPLIED", "SINCE", "REASON"}, rows)
}

func orderText(o document.Order) string {
	if o.Epoch == 0 {
		return "nothing"
	}
	return fmt.Sprintf("generation %d of epoch %d", o.Generation, o.Epoch)
}

func needsOnHub(needs []fleet.Need) string {
	var out []string
	for _, n := range needs {
		out = append(out, n.Module)
	}
	return hubclient.Parted("needs ", strings.Join(out, ", "))
}

// onTargets is a command that does something to the targets that are named or selected.
func onTargets[In any](s *cli.Session, c *cobra.Command, did string, names []string,
	r route.Route[route.TargetName, In, document.Done], in In) error {
	return hubclient.EachOnHub(c.Context(), s, did, names, func(hub *client.Client, name string) (document.Done, error) {
		return client.Call(c.Context(), hub, r, route.TargetName{Target: name}, in)
	})
}
