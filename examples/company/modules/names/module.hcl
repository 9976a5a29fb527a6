# Whom the host asks for names, and the few that it has to know by itself: what
# finds names, and what everything else depends on.
variable "resolvers" {
  type    = list(string)
  default = ["9.9.9.9"]
}
variable "search" {
  type    = list(string)
  default = []
}
variable "neighbours" {
  type        = map(string)
  default     = {}
  description = "names and addresses that have to work when no name server does"
}
variable "address" {
  type        = string
  default     = "127.0.1.1"
  description = "the host's own address"
}

resolver "site" {
  servers = var.resolvers
  search  = var.search
  options = ["timeout:2", "rotate"]
}

host_entry "self" {
  name    = target.name
  ip      = var.address
  aliases = [split(".", target.name)[0]]
}
host_entry "neighbour" {
  for_each = { for name, ip in var.neighbours : name => ip if name != target.name }
  name     = each.key
  ip       = each.value
}

# IPv4 first: the office has no IPv6 yet.
file_line "ipv4-first" {
  path   = "/etc/gai.conf"
  match  = "^#?precedence ::ffff:0:0/96\\s"
  line   = "precedence ::ffff:0:0/96  100"
  create = true
}
