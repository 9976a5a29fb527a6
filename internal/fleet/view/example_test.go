package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

func Example() {
	dir, err := os.MkdirTemp("", "view")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	v, err := view.Open(filepath.Join(dir, "view.db"), view.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	ctx, id := context.Background(), fleet.TargetID("aaaaaaaaaaaaaaaaaaaaaaaaaa")
	report, _ := json.Marshal(fleet.Report{
		Format: fleet.ReportFormat, Target: id, Seq: 1, At: 5,
		Event: fleet.Event{Kind: fleet.Drifted, Text: "/etc/motd"}, Status: fleet.Status{Drift: 1},
	})
	_ = v.PutTarget(ctx, fleet.Target{ID: id, Name: "web1", Standing: fleet.Active})
	_ = v.Append(ctx, 1, [][]byte{report})
	page, err := v.Targets(ctx, view.TargetQuery{Select: []string{"web*"}, Now: time.Unix(0, 9)})
	for _, t := range page.Targets {
		fmt.Println(t.Name, t.State, t.Drift, err)
	}
	// Output: web1 drifted 1 <nil>
}
