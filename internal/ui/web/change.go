package web

import (
	"net/http"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// changeFunc does what a form asks for. It returns the result for the user, and the page to show.
type changeFunc func(*visit) (text, next string, err error)

// changes returns the function of each form of a site, by its pattern.
func (s *Site) changes() map[string]changeFunc {
	if s.Host != nil {
		return changesOfHost()
	}
	return map[string]changeFunc{
		"/rollouts/{rollout}/order":    orderRollout,
		"/rollouts/{rollout}/approval": approveRollout,
		"/targets/{target}/freeze":     freezeTarget,
		"/targets/{target}/unfreeze":   ofTarget(route.UnfreezeTarget()),
		"/targets/{target}/approve":    ofTarget(route.ApproveTarget()),
		"/targets/{target}/trust":      ofTarget(route.TrustTarget()),
		"/targets/{target}/job":        createJob,
		"/targets/{target}/rollback":   rollBack,
		"/freeze":                      freezeAll,
		"/unfreeze":                    unfreezeAll,
		"/alarms/approve":              approveAlarm,
		"/requests/{target}/{request}": decideRequest,
		"/notices/{notice}":            decideNotice,
		"/exemptions/{exemption}":      decideExemption,
		"/locks/{lock}/release":        releaseSlot,
		"/signals/{signal}/send":       sendSignal,
		"/signals/{signal}/clear":      clearSignal,

		"/scopes/{kind}/{scope}/tasks/{task}/retry":   retryTask,
		"/scopes/{kind}/{scope}/tasks/{task}/resolve": resolveTask,
	}
}

// change answers a form: with the page that shows the result, or with the problem.
func (s *Site) change(w http.ResponseWriter, r *http.Request, do changeFunc) {
	v, err := s.open(r)
	text, next := "", ""
	if err == nil {
		if err = r.ParseForm(); err == nil {
			text, next, err = do(v)
		}
	}
	if err != nil {
		s.serve(w, r, func(*visit) (*page, error) { return nil, err })
		return
	}
	setFlash(w, text)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func orderRollout(v *visit) (string, string, error) {
	id := v.PathValue("rollout")
	done, err := client.Call(v.Context(), v.client, route.OrderRollout(), route.RolloutID{Rollout: id},
		document.RolloutRequest{Action: v.PostForm.Get("action"), Target: v.PostForm.Get("target"),
			Reason: v.PostForm.Get("reason")})
	return done.Text, "/rollouts/" + id, err
}

func approveRollout(v *visit) (string, string, error) {
	id := v.PathValue("rollout")
	done, err := client.Call(v.Context(), v.client, route.ApproveRollout(), route.RolloutID{Rollout: id},
		document.GateApprovalRequest{Gate: v.PostForm.Get("gate"), Reject: v.PostForm.Get("verdict") == "reject",
			Reason: v.PostForm.Get("reason")})
	return done.Text, "/rollouts/" + id, err
}

// ofTarget returns the function of a form that needs only a target and a reason.
func ofTarget(r route.Route[route.TargetName, document.ReasonRequest, document.Done]) changeFunc {
	return func(v *visit) (string, string, error) {
		at := route.TargetName{Target: v.PathValue("target")}
		done, err := client.Call(v.Context(), v.client, r, at, document.ReasonRequest{Reason: v.PostForm.Get("reason")})
		return done.Text, "/targets/" + at.Target, err
	}
}

func freezeTarget(v *visit) (string, string, error) {
	at := route.TargetName{Target: v.PathValue("target")}
	r, err := freezeRequest(v)
	if err != nil {
		return "", "", err
	}
	done, err := client.Call(v.Context(), v.client, route.FreezeTarget(), at, r)
	return done.Text, "/targets/" + at.Target, err
}

func freezeAll(v *visit) (string, string, error) {
	r, err := freezeRequest(v)
	if err != nil {
		return "", "", err
	}
	done, err := client.Post(v.Context(), v.client, route.FreezeAll(), r)
	return done.Text, "/", err
}

func unfreezeAll(v *visit) (string, string, error) {
	done, err := client.Post(v.Context(), v.client, route.UnfreezeAll(),
		document.ReasonRequest{Reason: v.PostForm.Get("reason")})
	return done.Text, "/", err
}

// freezeRequest reads a form with a reason and a duration, such as 2h; no duration means no end.
func freezeRequest(v *visit) (document.FreezeRequest, error) {
	r := document.FreezeRequest{Reason: v.PostForm.Get("reason")}
	if text := v.PostForm.Get("for"); text != "" {
		d, err := duration.Parse(text)
		if err != nil || d <= 0 {
			return r, &document.Problem{Title: "The duration is wrong", Status: http.StatusBadRequest,
				Detail: "cannot read " + text + " as a duration", Hint: "Write for example 90m or 2h"}
		}
		r.For = int64(d / time.Nanosecond)
	}
	return r, nil
}

// createJob lets a target apply, verify or report.
func createJob(v *visit) (string, string, error) {
	name, what := v.PathValue("target"), v.PostForm.Get("what")
	j, err := client.Post(v.Context(), v.client, route.CreateJob(),
		document.JobRequest{What: what, Select: []string{name}})
	return "The job " + j.ID + " is created: " + what + ".", "/jobs/" + j.ID, err
}

func approveAlarm(v *visit) (string, string, error) {
	done, err := client.Post(v.Context(), v.client, route.ApproveAlarm(),
		document.ApprovalRequest{Digest: v.PostForm.Get("digest")})
	return done.Text, "/inbox", err
}

// changesOfHost returns the function of each form, for a site without a hub.
func changesOfHost() map[string]changeFunc {
	return map[string]changeFunc{"/targets/{target}/rollback": rollBack, "/targets/{target}/apply": applyPlan,
		"/targets/{target}/confirm": confirmRun, "/targets/{target}/recover": recoverRun}
}
