package commands

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/agent"
	"fettle.dev/fettle/internal/ui/cli/explain"
	fleetcmd "fettle.dev/fettle/internal/ui/cli/fleet"
	hostcmd "fettle.dev/fettle/internal/ui/cli/host"
	"fettle.dev/fettle/internal/ui/cli/hub"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/cli/once"
	"fettle.dev/fettle/internal/ui/cli/preview"
	"fettle.dev/fettle/internal/ui/cli/repository"
	"fettle.dev/fettle/internal/ui/cli/secrets"
	"fettle.dev/fettle/internal/ui/cli/waves"
)

// documents are all formats that --json prints. docs/schema has one schema for
// each. A change of a schema that is not an addition needs a new number.
func documents() map[string]any {
	return map[string]any{
		"fettle.error/1": cli.ErrorDoc{}, "fettle.plan/1": rundoc.Plan{}, "fettle.drift/1": rundoc.Plan{},
		"fettle.report/1": hostcmd.ReportDoc{},
		"fettle.done/1":   cli.DoneDoc{}, "fettle.status/1": hostcmd.StatusDoc{}, "fettle.log/2": hostcmd.LogDoc{},
		"fettle.run/1": rundoc.Run{}, "fettle.runs/1": rundoc.Runs{},
		"fettle.gc/1": hostcmd.GCDoc{}, "fettle.version/1": cli.VersionDoc{}, "fettle.validate/1": repository.ValidateDoc{},
		"fettle.test/1": repository.TestsDoc{}, "fettle.list/1": repository.ListDoc{},
		"fettle.graph/1": repository.GraphDoc{},
		"fettle.diff/1":  repository.DiffDoc{}, "fettle.fmt/1": repository.FmtDoc{}, "fettle.docs/2": repository.DocsDoc{},
		"fettle.lint/1": repository.LintDoc{},
		"fettle.init/1": repository.InitDoc{}, "fettle.explain/2": explain.ExplainDoc{},
		"fettle.lookups/1":  repository.LookupsDoc{},
		"fettle.generate/1": repository.GenerateDoc{}, "fettle.modules/1": repository.ModulesDoc{},
		"fettle.secret/1": secrets.SecretDoc{}, "fettle.secrets/1": secrets.SecretListDoc{},
		"fettle.fleetdiff/1": repository.FleetDiffDoc{}, "fettle.target/1": cli.TargetDoc{},
		"fettle.rolloutevent/1": waves.RolloutEventDoc{},
		"fettle.targets/1":      cli.TargetsDoc{},
		"fettle.facts/1":        once.FactsDoc{},
		"fettle.command/1":      once.CommandDoc{}, "fettle.actions/1": once.ActionsDoc{}, "fettle.ran/2": hostcmd.RanDoc{},
		"fettle.here/1": cli.WorkstationHistoryDoc{}, "fettle.parts/1": once.PartsDoc{},
		"fettle.login/1":          hubclient.LoginDoc{},
		document.TargetPageFormat: document.TargetPage{}, document.TargetDetailFormat: document.TargetDetail{},
		document.StatusFormat: document.Status{}, document.ModulePageFormat: document.ModulePage{},
		document.ExportsFormat: document.Exports{}, document.RequestPageFormat: document.RequestPage{},
		document.CertificatePageFormat: document.CertificatePage{}, document.RequestPolicyFormat: document.RequestPolicy{},
		"fettle.agent.requested/1":  agent.AgentRequestDoc{},
		document.ModuleDetailFormat: document.ModuleDetail{}, document.EventPageFormat: document.EventPage{},
		document.LoginPageFormat: document.LoginPage{}, document.TokenPageFormat: document.TokenPage{},
		document.HubPageFormat: document.HubPage{}, document.AuditPageFormat: document.AuditPage{},
		document.NewTokenFormat: document.NewToken{}, document.UserPageFormat: document.UserPage{},
		document.NewLoginFormat: document.NewLogin{}, document.WebLoginFormat: document.WebLogin{},
		"fettle.hub/1":             hub.HubDoc{},
		document.BinaryPageFormat:  document.BinaryPage{},
		document.ExplanationFormat: document.Explanation{}, document.HubCheckFormat: document.HubCheck{},
		"fettle.permitted/1": fleetcmd.PermitDoc{}, document.NotificationPageFormat: document.NotificationPage{},
		document.NoticeFormat: document.Notice{}, document.AlarmPageFormat: document.AlarmPage{},
		document.JobFormat: document.Job{}, document.JobPageFormat: document.JobPage{},
		document.SearchFormat: document.Search{}, document.HistoryFormat: document.History{},
		document.RolloutPageFormat: document.RolloutPage{}, document.RolloutFormat: document.RolloutDetail{},
		document.ExemptionPageFormat:     document.ExemptionPage{},
		document.FleetRollbackPageFormat: document.FleetRollbackPage{},
		"fettle.rolloutplan/1":           preview.RolloutPlanDoc{},
		document.CommitDifferencesFormat: document.CommitDifferences{},
		document.BarrierPageFormat:       document.BarrierPage{},
		document.SignalPageFormat:        document.SignalPage{},
		document.LockPageFormat:          document.LockPage{},
		document.ScopePageFormat:         document.ScopePage{},
		document.ScopeDetailFormat:       document.ScopeDetail{},
		document.ScopeHistoryFormat:      document.ScopeHistory{},
		document.TaskPageFormat:          document.TaskPage{},
	}
}

// TestSchemas keeps docs/schema in step with the documents. With -update it
// writes the schemas.
func TestSchemas(t *testing.T) {
	updating := flag.Lookup("update").Value.String() == "true"
	for format, doc := range documents() {
		g := schemaWriter{defs: map[string]any{}}
		schema := g.object(reflect.TypeOf(doc))
		schema["properties"].(map[string]any)["format"] = map[string]any{"const": format}
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		schema["title"] = format
		if len(g.defs) > 0 {
			schema["$defs"] = g.defs
		}
		want, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		file := filepath.Join("../../../../docs/schema", strings.ReplaceAll(format, "/", "-")+".json")
		if updating {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s has no description; create it with -update: %v", format, err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s does not describe %s any more; see the difference with -update", file, format)
		}
	}
}

// schemaWriter turns Go types into JSON Schema.
type schemaWriter struct{ defs map[string]any }

func (g *schemaWriter) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		properties[name] = g.schema(f.Type)
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func (g *schemaWriter) schema(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return g.schema(t.Elem())
	case reflect.Struct:
		name := strings.TrimSuffix(strings.ToLower(t.Name()), "doc")
		if _, ok := g.defs[name]; !ok {
			g.defs[name] = nil // stops a type that holds itself
			g.defs[name] = g.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.schema(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}
