# The people of the teams that work on this host, with the same numbers
# everywhere. Who has left is nowhere.
variable "people" {
  type = map(object({
    full_name = string
    uid       = number
    teams     = list(string)
    keys      = list(string)
  }))
  default     = {}
  description = "everybody; which of them are here is said by teams"
}
variable "former" {
  type    = list(string)
  default = []
}
variable "teams" {
  type        = list(string)
  default     = ["ops"]
  description = "teams that work on this host"
}

locals {
  here = { for name, p in var.people : name => p if length(setintersection(p.teams, var.teams)) > 0 }
}

group "team" {
  for_each = toset(var.teams)
  name     = "team-${each.key}"
}
person "here" {
  for_each  = local.here
  name      = each.key
  full_name = each.value.full_name
  uid       = each.value.uid
  keys      = each.value.keys
  groups    = [for t in each.value.teams : "team-${t}" if contains(var.teams, t)]
  after     = [group.team]
}
user "former" {
  for_each = toset(var.former)
  name     = each.key
  ensure   = "absent"
}

# Nobody logs in as root, and homes are nobody else's business.
file_line "private-homes" {
  path   = "/etc/login.defs"
  match  = "^#?HOME_MODE\\s"
  line   = "HOME_MODE 0750"
  create = true
}
