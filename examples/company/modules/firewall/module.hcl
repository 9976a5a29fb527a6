# What may come in. Roles say which ports they open: the objects are merged.
variable "open" {
  type = map(object({
    port     = number
    protocol = optional(string, "tcp")
    from     = optional(list(string), ["0.0.0.0/0", "::/0"])
  }))
  default     = {}
  merge       = "deep"
  description = "ports that are open, by a word for each"
  validation {
    condition     = length([for o in values(var.open) : o if o.port < 1 || o.port > 65535]) == 0
    error_message = "A port lies between 1 and 65535."
  }
}
variable "ssh_from" {
  type        = list(string)
  default     = null
  description = "in place of what open says: from where ssh may come"
}

locals {
  open = var.ssh_from == null ? var.open : merge(var.open, { ssh = { port = 22, protocol = "tcp", from = var.ssh_from } })
  rules = flatten([for name, o in local.open : [
    { name = name, port = o.port, protocol = o.protocol, family = "ip", from = [for a in o.from : a if !strcontains(a, ":")] },
    { name = name, port = o.port, protocol = o.protocol, family = "ip6", from = [for a in o.from : a if strcontains(a, ":")] },
  ]])
}

nftables "main" {
  rules = templatefile("templates/rules.nft.tmpl", { rules = [for r in local.rules : r if length(r.from) > 0] })
}
