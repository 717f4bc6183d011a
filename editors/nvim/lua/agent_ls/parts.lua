-- Functions that create, extend and end a snapshot's streamed texts (parts) and the transcript items that contain
-- them. Pure.
local M = {}

---@param text string
---@return integer code points
function M.code_points(text) return vim.str_utfindex(text, "utf-32") end

---@param part agent_ls.Part
---@param text string
function M.append(part, text)
  local pieces = vim.split(text, "\n", { plain = true })
  local lines = part.lines
  lines[#lines] = lines[#lines] .. pieces[1]
  for i = 2, #pieces do
    lines[#lines + 1] = pieces[i]
  end
  part.length = part.length + M.code_points(text)
end

---@param text string?
---@return agent_ls.Part
function M.new_part(text)
  local part = { lines = { "" }, length = 0, open = true }
  if text and text ~= "" then
    M.append(part, text)
  end
  return part
end

---Marks an item as changed, so that views redraw it.
---@param s agent_ls.Snapshot
---@param item agent_ls.Item?
function M.mark_changed(s, item)
  if item then
    s.touched[item.index] = true
  end
end

---Adds an item at the end of the transcript.
---@param s agent_ls.Snapshot
---@param item table
---@return agent_ls.Item
function M.add_item(s, item)
  local last = s.items[#s.items]
  if last and last.kind == "retry" then
    last.status = item.level == "error" and "failed" or "done"
    M.mark_changed(s, last)
  end
  item.turn_id = item.turn_id or s.now.turn_id
  item.agent_id = item.agent_id or s.now.agent_id
  item.index = #s.items + 1
  s.items[item.index] = item
  M.mark_changed(s, item)
  return item
end

---Returns the item of a call. Creates it if necessary, because the arguments are streamed before the call starts.
---@param s agent_ls.Snapshot
---@param call_id string
---@param name string?
function M.ensure_call(s, call_id, name)
  local item = s.calls[call_id]
  if not item then
    item = M.add_item(s, {
      kind = "tool",
      id = call_id,
      name = name or "",
      summary = "",
      status = "writing",
      arguments = M.new_part(),
      part = M.new_part(),
    })
    s.calls[call_id] = item
    s.parts[call_id .. ":args"], s.part_item[call_id .. ":args"] = item.arguments, item
    s.parts[call_id .. ":out"], s.part_item[call_id .. ":out"] = item.part, item
  end
  if name and name ~= "" then
    item.name = name
  end
  return item
end

---Finds or creates a text part. Adds its transcript item once the part has text.
---@param s agent_ls.Snapshot
---@param part_id string
---@param kind "text"|"reasoning"
function M.ensure_text_part(s, part_id, kind)
  local part = s.parts[part_id]
  if not part then
    part = M.new_part()
    s.parts[part_id] = part
  end
  -- Wait for the first text, so that an empty part leaves no empty item.
  if part.length > 0 and not s.part_item[part_id] then
    s.part_item[part_id] = M.add_item(s, { kind = kind, id = part_id, part = part })
  end
  M.mark_changed(s, s.part_item[part_id])
  return part
end

---Functions that find or create a part, by the kind of the delta or of the open part.
M.part_of = {
  assistant_text = function(s, id) return M.ensure_text_part(s, id, "text") end,
  reasoning = function(s, id) return M.ensure_text_part(s, id, "reasoning") end,
  tool_call_args = function(s, id, name) return M.ensure_call(s, (id:gsub(":args$", "")), name).arguments end,
  tool_call_output = function(s, id) return M.ensure_call(s, (id:gsub(":out$", ""))).part end,
}

---Appends text to a part.
---@param s agent_ls.Snapshot
---@param kind string key of `part_of`
---@param part_id string
---@param text string
---@param name string? of a tool
function M.append_text(s, kind, part_id, text, name)
  local find = M.part_of[kind]
  M.append(find(s, part_id, name), text)
  find(s, part_id, name) -- creates the item, because there is text now
  M.mark_changed(s, s.part_item[part_id])
end

---Replaces the text of a part that is still streaming with the text in a subscription result.
---@param s agent_ls.Snapshot
---@param kind string
---@param open agent_ls.wire.OpenPart
function M.reopen(s, kind, open)
  local find = M.part_of[kind]
  local part = find and find(s, open.partId, open.name)
  if part and part.open then
    part.lines, part.length = { "" }, 0
    M.append_text(s, kind, open.partId, open.text, open.name)
  end
end

---Ends a text part and sets its final text.
---@param s agent_ls.Snapshot
---@param data agent_ls.wire.AssistantTextEnd|agent_ls.wire.ReasoningEnd
---@param kind "text"|"reasoning"
function M.end_part(s, data, kind)
  local part = s.parts[data.partId] or M.new_part()
  s.parts[data.partId] = part
  -- The end event contains the whole text. If the streamed text has the same length, keep it, so that views need
  -- no redraw.
  if part.length ~= M.code_points(data.text) then
    part.lines, part.length = vim.split(data.text, "\n", { plain = true }), M.code_points(data.text)
  end
  part.open, part.interrupted = false, data.interrupted
  M.ensure_text_part(s, data.partId, kind)
end

return M
