package api

import (
	"context"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
)

// ModuleViews are queries about modules. *view.View implements it.
type ModuleViews interface {
	Modules(ctx context.Context, now time.Time) (document.ModulePage, error)
	Module(ctx context.Context, q view.ModuleQuery) (document.ModuleDetail, error)
}

// HandleModules registers the handlers of queries about modules.
func HandleModules(t *Table, v ModuleViews) {
	Handle(t, route.Modules(), func(ctx context.Context, c Caller, _, _ route.None) (document.ModulePage, error) {
		return v.Modules(ctx, c.Now)
	})
	Handle(t, route.Module(),
		func(ctx context.Context, c Caller, q route.ModuleQuery, _ route.None) (document.ModuleDetail, error) {
			return v.Module(ctx, view.ModuleQuery{Module: Directory(q.Module), Offset: q.Offset, Limit: q.Limit, Now: c.Now})
		})
}

// Directory returns the directory of a module; users may omit "modules/".
func Directory(name string) string {
	if name == "" || strings.HasPrefix(name, "modules/") {
		return name
	}
	return "modules/" + name
}
