# Refuse all incoming connections, except to the ports of the variables.
variable "open" {
  type        = map(number)
  default     = {}
  merge       = "shallow"
  description = "TCP ports that everybody may reach"
}

variable "allow" {
  type = map(object({
    port = number
    from = list(string)
  }))
  default     = {}
  description = "TCP ports that some networks may reach"
}

# A run that changes the firewall is undone after 60 seconds unless you confirm it.
nftables "firewall" {
  rules = templatefile("templates/rules.nft.tmpl", { open = var.open, allow = var.allow })
}
