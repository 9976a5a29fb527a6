# A list: the elements are in the block itself.
target "bastion" {
  for_each = { ber = "10.1.0.1", ams = "10.2.0.1" }
  name     = "bastion-${each.key}"
  labels   = { role = "bastion", site = each.key }
  ssh { host = each.value }
}
