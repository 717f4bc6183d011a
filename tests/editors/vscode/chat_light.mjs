// All states of the chat in the light theme.
// req: H9
import { playStates } from "./chat_states.mjs";

await playStates("Default Light Modern");
