package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// TargetRequest names a request of a target, by its kind.
type TargetRequest struct {
	Target  string `path:"target"`
	Request string `path:"request"`
}

func ofRequests() []Row {
	return []Row{Requests().Row, RequestPolicy().Row, SetRequestPolicy().Row, ApproveRequest().Row,
		RejectRequest().Row}
}

// Requests returns the undecided requests of agents.
func Requests() (r Route[None, None, document.RequestPage]) {
	return r.get(access.Read, "/v1/requests", "List requests of agents that are not decided")
}

// RequestPolicy returns the policy that decides requests.
func RequestPolicy() (r Route[None, None, document.RequestPolicy]) {
	return r.get(access.Read, "/v1/requests/policy", "Show the policy for requests of agents")
}

// SetRequestPolicy changes one answer or one rule of the policy.
func SetRequestPolicy() (r Route[None, document.RequestPolicyChange, document.Done]) {
	return r.post(access.Admin, "/v1/requests/policy", "Set the policy for requests of agents, at all hubs")
}

// ApproveRequest does what the agent requested.
func ApproveRequest() (r Route[TargetRequest, document.RequestDecision, document.Done]) {
	return r.post(access.Approve, "/v1/targets/{target}/requests/{request}/approve", "Approve a target's request")
}

// RejectRequest refuses a request of an agent.
func RejectRequest() (r Route[TargetRequest, document.RequestDecision, document.Done]) {
	return r.post(access.Approve, "/v1/targets/{target}/requests/{request}/reject", "Reject a target's request")
}
