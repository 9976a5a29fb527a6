package web

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// The verdicts of forms in the inbox.
const (
	approve = "approve"
	reject  = "reject"
)

// verdictOf returns the verdict of a form: whether it is a rejection.
func verdictOf(v *visit) (rejected bool, err error) {
	switch text := v.PostForm.Get("verdict"); text {
	case approve:
		return false, nil
	case reject:
		return true, nil
	default:
		return false, &document.Problem{Title: "The form has no verdict", Status: http.StatusBadRequest,
			Detail: "cannot use the verdict " + text, Hint: "Approve or reject it on the page Inbox"}
	}
}

// decideRequest approves or rejects the request of an agent.
func decideRequest(v *visit) (string, string, error) {
	rejected, err := verdictOf(v)
	if err != nil {
		return "", "", err
	}
	r := route.ApproveRequest()
	if rejected {
		r = route.RejectRequest()
	}
	done, err := client.Call(v.Context(), v.client, r,
		route.TargetRequest{Target: v.PathValue("target"), Request: v.PathValue("request")},
		document.RequestDecision{Name: v.PostForm.Get("name"), Reason: v.PostForm.Get("reason")})
	return done.Text, "/inbox", err
}

// decideNotice approves or rejects a notice.
func decideNotice(v *visit) (string, string, error) {
	rejected, err := verdictOf(v)
	if err != nil {
		return "", "", err
	}
	r := route.ApproveNotice()
	if rejected {
		r = route.RejectNotice()
	}
	done, err := client.Call(v.Context(), v.client, r, route.NoticeID{Notice: v.PathValue("notice")},
		document.ReasonRequest{Reason: v.PostForm.Get("reason")})
	return done.Text, "/inbox", err
}

// decideExemption approves an exemption from windows. A rejection ends it.
func decideExemption(v *visit) (string, string, error) {
	rejected, err := verdictOf(v)
	if err != nil {
		return "", "", err
	}
	r := route.ApproveExemption()
	if rejected {
		r = route.EndExemption()
	}
	done, err := client.Call(v.Context(), v.client, r, route.ExemptionID{Exemption: v.PathValue("exemption")},
		document.ReasonRequest{Reason: v.PostForm.Get("reason")})
	return done.Text, "/inbox", err
}
